#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneModel

/// The file that tells whoever finds an export, years later, what it is.
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
      WHAT IS WHAT

      \(bundle)
          The model, as Xcode saves one: open it with Xcode, or read its XML.
      objects.ndjson
          The objects, one JSON object a line (UTF-8). The first line says what model they are of. Then:
              {"id":"Entity/1","attributes":{...},"relationships":{"one":"Other/2","many":["Other/3","Other/4"]}}
          An attribute that is absent is nil, and null says that it is nil although the model has a default value.
          A relationship that is absent is empty. Ids connect the lines of this file, and mean nothing elsewhere.
      blobs/
          \(blobCount) large values, a file each. A line names one as {"file":"blobs/blob-1","size":12345}.

      LOAD IT INTO A STORE

          kvclone init --store NEW.kvclone --model \(argument(bundle))
          kvclone load --store NEW.kvclone objects.ndjson
          kvclone check --store NEW.kvclone

      The objects get new ids. Derived attributes are computed again.

      READ IT IN AN APP WITH CORE DATA

      1. Add \(bundle) to the app. Core Data makes an empty store of it as of any model.
      2. Read objects.ndjson line by line, skipping the first. For each line insert an object of the entity before the slash
         of "id", and set its attributes. Every few thousand objects call obtainPermanentIDs(for:) of the context with those
         that are new, remember the objectID of each under its line's id, then save, and reset the context. An objectID from
         before that call is temporary: it finds nothing once the context has been reset.
      3. When all objects are there, read the lines again, and set the relationships. An array of an ordered
         relationship is in its order. Core Data sets the inverses itself. Save every few thousand objects, and reset.
      \(mandatory(model))
      How values are written, by the attribute's type:
          Integer 16, 32, 64   number
          Float, Double        number, or "NaN", "Infinity", "-Infinity"
          Decimal              string, for NSDecimalNumber(string:)
          Boolean              true, false
          String, URI          string
          UUID                 string, upper case
          Date                 string, RFC 3339 in UTC ("2021-11-15T08:10:00.25Z"), or {"secondsSince2001":number}
          Binary               {"base64":"..."} or {"file":"blobs/...","size":bytes}
          Transformable        the same: the bytes that the attribute's value transformer made, or, where the model
                               names none, NSKeyedArchiver; set what the transformer makes of them, not the bytes
          Composite            object with a member for each element
          Derived              as any value of its type; Core Data computes it, so do not set it
      Transient attributes and fetched properties are part of the model only.

      """
  }

  /// What a shell makes one argument of that is no option, whatever the model is called.
  private static func argument(_ name: String) -> String {
    "'" + (name.hasPrefix("-") ? "./" : "") + name.replacing("'", with: "'\\''") + "'"
  }

  /// What has to be done about relationships that Core Data does not save while they are empty; nothing where there are none.
  private static func mandatory(_ model: ManagedObjectModel) -> String {
    let names = model.entities.flatMap { entity in
      entity.relationships.filter { !$0.isTransient && (!$0.isOptional || $0.minCount > 1) }
        .map { "    \(entity.name).\($0.name)" }
    }
    if names.isEmpty { return "" }
    return """

      Core Data refuses to save objects while these relationships have too few members:

      \(names.joined(separator: "\n"))

      So they have to be set before the save of step 2: save all objects once, after step 3; or have a version of the model
      in which they are optional and need no count, load into that, and migrate the app's store to this one.

      """
  }
}
