// `sstdump properties`: all properties that a table records.
#include <map>
#include <memory>
#include <string>

#include "lsm/bytes/escape.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "tools/sstdump/commands/commands.h"
#include "tools/sstdump/layout.h"
#include "tools/sstdump/store/table_file.h"

namespace tools {
namespace {

// Properties that are texts.  Unknown properties of newer versions are shown as text too.
bool IsText(const std::string& name, const lsm::TableProperties& properties) {
  return name == "compression" || name == "created_by" || name == "filter_kind" ||
         name == "filter_reason" || name == "largest_key" || name == "smallest_key" ||
         name.starts_with("digest_seed") || properties.others.contains(name);
}

// Identifiers are not quantities: shown in hexadecimal.
std::map<std::string, std::string> TextsOf(const lsm::TableProperties& properties) {
  std::map<std::string, std::string> texts = properties.ToMap();
  const auto as_id = [&texts](const std::string& name, uint64_t id) {
    if (const auto text = texts.find(name); text != texts.end()) text->second = lsm::ReadableId(id);
  };
  as_id("digest_seed", properties.digest_seed);
  as_id("digest_seed_high", properties.digest_seed_high);
  return texts;
}

void WriteProperties(const lsm::TableProperties& properties, lsm::JsonWriter* json) {
  json->Key("properties");
  json->BeginObject();
  for (const auto& [name, value] : TextsOf(properties)) {
    json->Key(lsm::Escape(name));
    if (IsText(name, properties)) {
      json->String(value);
    } else if (name == "target_fpp" || name == "expected_fpp") {
      // The text form of a double may be invalid JSON.
      json->Number(name == "target_fpp" ? properties.target_fpp : properties.expected_fpp);
    } else {
      json->Number(std::stoull(value));
    }
  }
  json->EndObject();
}

}  // namespace

void RunProperties(const Target& target, Session* session) {
  const absl::StatusOr<std::unique_ptr<lsm::Table>> table = OpenTable(target);
  if (!table.ok()) return session->Fail(table.status(), target);
  const lsm::TableProperties& properties = (*table)->properties();
  if (session->json_wanted()) {
    WriteTree(properties.keyspace, NamesFor(target), session);
    return WriteProperties(properties, &session->json());
  }
  const std::map<std::string, std::string> texts = TextsOf(properties);
  std::string owner;
  if (properties.keyspace != lsm::kDefaultKeyspace)
    owner =
        lsm::Concat(" of a table of ", TreeText(properties.keyspace, NamesFor(target), *session));
  session->Print(
      Heading(*session, target.path, Count(texts.size(), "property", "properties") + owner));
  const size_t columns = KeyColumns(*session, 28, 1);
  Fields fields;
  for (const auto& [name, value] : texts) {
    std::string bytes, shown;
    if (!lsm::Unescape(value, &bytes)) {
      shown = session->Fit(value, columns);
    } else if (!bytes.empty()) {
      shown = session->ShowKey(bytes, columns);
    }
    fields.push_back({session->Fit(lsm::Escape(name, 60), session->columns() / 2), shown});
  }
  session->Print(FieldsText(*session, fields));
}

}  // namespace tools
