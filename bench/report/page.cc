#include "bench/report/page.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string_view>

#include "bench/report/assets.h"
#include "lsm/bytes/status.h"

#ifndef TRELLIS_CHART_JS
#define TRELLIS_CHART_JS ""
#endif

namespace bench {
namespace {

// Encodes the part of a data: URL after the comma.
std::string PercentEncode(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       c == '-' || c == '.' || c == '_';
    if (plain) {
      out += c;
      continue;
    }
    char escaped[4];
    std::snprintf(escaped, sizeof escaped, "%%%02X", static_cast<unsigned char>(c));
    out += escaped;
  }
  return out;
}

std::string Paragraph(std::string_view text, const char* kind = "") {
  return std::string("<p") + kind + ">" + EscapeHtml(text) + "</p>\n";
}

// Tables are open, so that they show with scripts off; the script closes those under a plot.
std::string TableHtml(const Page& page, const Table& table) {
  return "<details open id=\"table-" + EscapeHtml(table.id) + "\"><summary>" +
         EscapeHtml(table.title) + "</summary>\n<div class=\"scroll\">" + ToHtml(table) +
         "</div>\n<p class=\"csv\"><a download=\"" +
         EscapeHtml(page.data_name + "_" + table.id + ".csv") +
         "\" href=\"data:text/csv;charset=utf-8," + PercentEncode(ToCsv(table)) +
         "\">Download CSV</a></p></details>\n";
}

std::string BodyHtml(const Page& page) {
  std::string body = "<h1>" + EscapeHtml(page.title) + "</h1>\n";
  for (const std::string& text : page.lead) body += Paragraph(text, " class=\"lead\"");
  for (const std::string& text : page.warnings) {
    body += Paragraph("Note: " + text, " class=\"warning\"");
  }
  for (const Section& section : page.sections) {
    body += "<section>\n<h2>" + EscapeHtml(section.title) + "</h2>\n";
    if (!section.text.empty()) body += Paragraph(section.text);
    if (!section.plot.empty() && !page.chart_js.empty()) {
      body += "<div class=\"plot\" data-plot=\"" + EscapeHtml(section.plot) + "\"></div>\n";
    }
    for (const Table& table : section.tables) body += TableHtml(page, table);
    body += "</section>\n";
  }
  return body;
}

// Replaces each {{name}} of the template once; does not look into the inserted text.
std::string Fill(std::string_view page_template,
                 const std::map<std::string_view, std::string>& values) {
  std::string out;
  while (true) {
    const size_t begin = page_template.find("{{");
    const size_t end = page_template.find("}}", begin);
    if (begin == std::string_view::npos || end == std::string_view::npos) break;
    out += page_template.substr(0, begin);
    const auto value = values.find(page_template.substr(begin + 2, end - begin - 2));
    if (value != values.end()) out += value->second;
    page_template.remove_prefix(end + 2);
  }
  return out.append(page_template);
}

// Keeps "</script" in a script's source from ending its element; "<\/" means the same in a string.
std::string SourceForScript(std::string source) {
  constexpr std::string_view kEnd = "</script";
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  auto at = source.begin();
  while ((at = std::search(at, source.end(), kEnd.begin(), kEnd.end(), same)) != source.end()) {
    at = source.insert(at + 1, '\\');
  }
  return source;
}

}  // namespace

std::string JsonForScript(const nlohmann::ordered_json& json) {
  const std::string text =
      json.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

std::string RenderPage(const Page& page) {
  return Fill(kPageHtml, {{"title", EscapeHtml(page.title)},
                          {"style", kPageCss},
                          {"body", BodyHtml(page)},
                          {"data", JsonForScript(page.data)},
                          {"chart_js", SourceForScript(page.chart_js)},
                          {"script", SourceForScript(kPlotsJs + page.script)}});
}

const char* SystemChartJs() { return TRELLIS_CHART_JS; }

// Uses stdio, because a stream treats a read error as the end of the file.
absl::StatusOr<std::string> ReadWhole(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  std::string bytes;
  char piece[1 << 16];
  while (file != nullptr) {
    const size_t count = std::fread(piece, 1, sizeof piece, file.get());
    bytes.append(piece, count);
    if (count < sizeof piece) break;
  }
  if (file == nullptr || std::ferror(file.get()) != 0) {
    return absl::UnavailableError(lsm::Concat(path, ": cannot be read: ", std::strerror(errno)));
  }
  return bytes;
}

absl::Status WriteWhole(const std::string& name, const std::string& bytes) {
  // Follows symbolic links, and does not replace anything but a file (a device, a pipe).
  std::error_code no_such;
  const std::filesystem::path found = std::filesystem::canonical(name, no_such);
  const std::string path = no_such ? name : found.string();
  std::error_code error;
  if (no_such && std::filesystem::is_symlink(name, error))
    return absl::UnavailableError(lsm::Concat(name, ": is a broken link"));
  if (!no_such && !std::filesystem::is_regular_file(path, error))
    return absl::UnavailableError(lsm::Concat(name, ": is not a regular file"));
  const std::string temporary = path + ".writing";
  errno = 0;
  {
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    out << bytes;
    out.flush();
    if (!out) {
      const std::string why = std::strerror(errno);
      std::error_code ignored;
      std::filesystem::remove(temporary, ignored);
      return absl::UnavailableError(lsm::Concat(temporary, ": cannot be written: ", why));
    }
  }
  std::filesystem::rename(temporary, path, error);
  if (error) return absl::UnavailableError(lsm::Concat(path, ": ", error.message()));
  return absl::OkStatus();
}

absl::Status MakeOutputDirectory(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed) return absl::UnavailableError(lsm::Concat("--out: ", path, ": ", failed.message()));
  return absl::OkStatus();
}

}  // namespace bench
