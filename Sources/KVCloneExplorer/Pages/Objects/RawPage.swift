import KVClone

/// The stored bytes of an object's record, with the meaning of each part.
struct RawPage: Page {
  var record: RawRecord
  var links: ObjectLinks

  var title: String { "Record of \(record.name.id)" }
  var section: PageSection { .entities }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] {
    ObjectPage.trail(record.name, context) + [(record.name.id, links.object)]
  }

  private var end: Int { record.offset + record.bytes.count }

  private var next: String? { end < record.byteCount ? links.rawPage(offset: end) : nil }

  func html(_ context: PageContext) -> HTML {
    var html: HTML = ""
    if let problem = record.problem { html += Components.notice(problem, "error") }
    html += Components.definitions([
      ("Table", Components.code(record.table)), ("Key", Components.code(record.key)),
      ("Size", Components.bytes(UInt64(record.byteCount))),
      (
        "Checksum",
        "\(Components.code(record.checksum)) \(record.isIntact ? Self.valid : Self.wrong)"
      ), ("Commit", "\(record.commit)"), ("Layout", "\(record.layout)"), ("Entity code", "\(record.entityCode)"),
      ("Format version", "\(record.formatVersion)"),
    ])
    let rows = record.parts.map { part -> [HTML] in
      [
        "\(part.offset)", "\(part.byteCount)", "\(part.name)", "\(part.value)",
        Components.code(part.hex + (part.isCut ? "…" : "")),
      ]
    }
    html += Components.section(
      "Parts",
      Components.table(
        "Parts of the record",
        columns: [("Offset", true), ("Bytes", true), ("Part", false), ("Value", false), ("Stored", false)], rows: rows))
    if !record.blobs.isEmpty { html += Components.section("Blobs", blobs) }
    html += Components.section("Bytes", Components.hex(title, record.bytes, start: record.offset))
    let summary = ValuePart.summary(UInt64(record.offset), UInt64(end), of: UInt64(record.byteCount))
    return html
      + Components.pager(summary, first: record.offset == 0 ? nil : links.rawPage(offset: 0), next: next)
  }

  private static let valid = Components.badge("valid", "good")
  private static let wrong = Components.badge("wrong", "bad")

  private var blobs: HTML {
    let rows = record.blobs.map { blob -> [HTML] in
      [
        "\(blob.attribute)", "\(blob.serial)", Components.bytes(blob.byteCount), "\(blob.chunkCount)",
        "\(blob.referenceCount)", Components.code(blob.digest),
      ]
    }
    return Components.table(
      "Blobs of the record",
      columns: [
        ("Attribute", false), ("Blob", true), ("Size", true), ("Chunks", true), ("References", true), ("Digest", false),
      ], rows: rows)
  }

  func write(to json: inout JSONWriter) {
    json.member("id", record.name.id)
    json.member("table", record.table)
    json.member("key", record.key)
    json.member("size", record.byteCount)
    json.member("checksum", record.checksum)
    json.member("isIntact", record.isIntact)
    json.nullable("problem", record.problem)
    json.member("commit", record.commit)
    json.member("layout", record.layout)
    json.member("entityCode", record.entityCode)
    json.member("formatVersion", record.formatVersion)
    json.list("parts", record.parts) { json, part in
      json.member("offset", part.offset)
      json.member("bytes", part.byteCount)
      json.member("part", part.name)
      json.member("value", part.value)
    }
    json.list("blobs", record.blobs) { json, blob in
      json.member("attribute", blob.attribute)
      json.member("blob", blob.serial)
      json.member("size", blob.byteCount)
      json.member("chunks", blob.chunkCount)
      json.member("references", blob.referenceCount)
      json.member("digest", blob.digest)
    }
    json.member("offset", record.offset)
    json.member("hex", Hex.text(record.bytes))
    json.nullable("next", next)
  }

  var table: PageTable {
    PageTable(
      columns: ["offset", "bytes", "part", "value", "hex"],
      rows: record.parts.map { [String($0.offset), String($0.byteCount), $0.name, $0.value, $0.hex] })
  }
}
