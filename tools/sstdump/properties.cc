// `sstdump properties`: everything that a table says of itself.
#include <map>
#include <memory>
#include <string>

#include "lsm/bytes/escape.h"
#include "tools/sstdump/commands.h"
#include "tools/sstdump/layout.h"
#include "tools/sstdump/table_file.h"

namespace tools {
namespace {

// The properties that are no numbers; those of a newer version, too, are shown as text.
bool IsText(const std::string& name, const lsm::TableProperties& properties) {
  return name == "compression" || name == "created_by" || name == "filter_kind" ||
         name == "filter_reason" || name == "largest_key" || name == "smallest_key" ||
         properties.others.contains(name);
}

void WriteProperties(const lsm::TableProperties& properties, lsm::JsonWriter* json) {
  json->Key("properties");
  json->BeginObject();
  for (const auto& [name, value] : properties.ToMap()) {
    json->Key(lsm::Escape(name));
    if (IsText(name, properties)) {
      json->String(value);
    } else if (name == "target_fpp" || name == "expected_fpp") {
      // As text a double may be what JSON has not.
      json->Number(name == "target_fpp" ? properties.target_fpp : properties.expected_fpp);
    } else {
      json->Json(value);
    }
  }
  json->EndObject();
}

}  // namespace

void ShowProperties(const Target& target, Session* session) {
  const absl::StatusOr<std::unique_ptr<lsm::Table>> table = OpenTable(target);
  if (!table.ok()) return session->Fail(table.status(), target);
  const lsm::TableProperties& properties = (*table)->properties();
  if (session->json_wanted()) return WriteProperties(properties, &session->json());
  const std::map<std::string, std::string> texts = properties.ToMap();
  session->Print(Heading(*session, target.path, Count(texts.size(), "property", "properties")));
  const size_t columns = KeyColumns(*session, 28, 1);
  Fields fields;
  for (const auto& [name, value] : texts)
    fields.push_back({session->Fit(lsm::Escape(name, 60), session->columns() / 2),
                      session->Fit(value, columns)});
  session->Print(FieldsText(*session, fields));
}

}  // namespace tools
