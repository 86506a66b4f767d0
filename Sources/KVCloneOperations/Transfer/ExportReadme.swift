#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneCore
import KVCloneModel

/// The file that explains an export to a later finder.
enum ExportReadme {
  static func text(
    model: ManagedObjectModel, bundle: String, store: UUID, dump: DumpResult, _ blobCount: Int
  ) -> String {
    let counts = dump.counts.sorted { AttributeJSON.utf8Precedes($0.key, $1.key) }
    let list = counts.map { "    \($0.key): \($0.value)" }.joined(separator: "\n")
    return """
      An export of a KVClone store

      Store       \(store.uuidString)
      Model       \(model.name), version \(model.versionIdentifier)
      Model hash  \(model.modelHash.hex)
      Objects     \(dump.objectCount)
      \(list.isEmpty ? "" : list + "\n")
      CONTENTS

      \(bundle)
          The model as a bundle for Xcode. It contains XML.
      objects.ndjson
          The objects, one JSON object per line (UTF-8). The first line is a header with the model. The other lines:
              {"id":"Entity/1","attributes":{...},"relationships":{"one":"Other/2","many":["Other/3","Other/4"]}}
          An absent attribute is nil. A null means that the attribute is nil although the model has a default value.
          An absent relationship is empty. Ids connect the lines of this file and have no meaning elsewhere.
      blobs/
          \(blobCount) blobs, one file each. A line refers to one as {"file":"blobs/blob-1","size":12345}.

      LOAD INTO A STORE

          kvclone init --store NEW.kvclone --model \(argument(bundle))
          kvclone load --store NEW.kvclone objects.ndjson
          kvclone check --store NEW.kvclone

      The objects get new ids. Derived attributes are recomputed.

      READ IN AN APP WITH CORE DATA

      1. Add \(bundle) to the app. Core Data creates an empty store from it.
      2. Read objects.ndjson line by line, skipping the first. For each line, insert an object of the entity before the
         slash of "id", and set its attributes. Every few thousand objects, call obtainPermanentIDs(for:) of the context
         with the new objects, store the objectID of each under the id of its line, save, and reset the context. An
         objectID from before that call is temporary and finds nothing after the reset.
      3. After all objects are inserted, read the lines again and set the relationships. An array of an ordered
         relationship is in order. Core Data sets the inverses itself. Save and reset every few thousand objects.
      \(mandatory(model))
      Encoding of values by the type of the attribute:
          Integer 16, 32, 64   number
          Float, Double        number, or "NaN", "Infinity", "-Infinity"
          Decimal              string, for NSDecimalNumber(string:)
          Boolean              true, false
          String, URI          string
          UUID                 string, upper case
          Date                 string, RFC 3339 in UTC ("2021-11-15T08:10:00.25Z"), or {"secondsSince2001":number}
          Binary               {"base64":"..."} or {"file":"blobs/...","size":bytes}
          Transformable        as Binary: the output of the attribute's value transformer, or of NSKeyedArchiver if the
                               model names none; set the value that the transformer restores, not the bytes
          Composite            object with a member for each element
          Derived              as a value of its type; do not set it, because Core Data computes it
      Transient attributes and fetched properties are part of the model only.

      """
  }

  /// Quotes one shell argument that is not an option, for any model name.
  private static func argument(_ name: String) -> String {
    "'" + (name.hasPrefix("-") ? "./" : "") + name.replacing("'", with: "'\\''") + "'"
  }

  /// Advice about relationships that Core Data does not save while they are empty; nil if there are none.
  private static func mandatory(_ model: ManagedObjectModel) -> String {
    let names = model.entities.flatMap { entity in
      entity.relationships.filter { !$0.isTransient && (!$0.isOptional || $0.minCount > 1) }
        .map { "    \(entity.name).\($0.name)" }
    }
    if names.isEmpty { return "" }
    return """

      Core Data does not save objects while these relationships have too few members:

      \(names.joined(separator: "\n"))

      Set them before the save of step 2: save all objects once, after step 3. Alternatively, load into a model version
      in which they are optional without a minimum count, and migrate the app's store to this version.

      """
  }
}
