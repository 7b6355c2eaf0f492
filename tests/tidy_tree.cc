#include "tests/tidy_tree.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace tidy {

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())))
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string Spelt(std::string_view start, std::string_view rest) {
  return std::string(start) + std::string(rest);
}

std::string At(const std::string& path, size_t line_index) {
  return path + ":" + std::to_string(line_index + 1) + ": ";
}

bool IsHeader(std::string_view path) { return path.ends_with(".h"); }
bool IsSource(std::string_view path) { return path.ends_with(".cc"); }
bool IsCode(std::string_view path) { return IsHeader(path) || IsSource(path); }
bool IsCMake(std::string_view path) {
  return path.ends_with("CMakeLists.txt") || path.ends_with(".cmake");
}

bool IsExample(std::string_view path) {
  return path.starts_with("lsm/examples/") || path.starts_with("bloom/examples/");
}
std::string FolderOf(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

bool IsOurs(std::string_view include) {
  for (std::string_view folder : {"bloom/", "lsm/", "tools/", "tests/", "bench/"}) {
    if (include.starts_with(folder)) return true;
  }
  return false;
}

bool IsDocument(std::string_view path) { return path.ends_with(".md"); }

Include IncludeOf(std::string_view line) {
  line = Trimmed(line);
  if (!line.starts_with("#include")) return {};
  line = Trimmed(line.substr(8));
  if (line.size() < 2 || (line[0] != '"' && line[0] != '<')) return {};
  const size_t end = line.find(line[0] == '"' ? '"' : '>', 1);
  if (end == std::string_view::npos) return {};
  return {std::string(line.substr(1, end - 1)), line[0] == '"'};
}

}  // namespace tidy
