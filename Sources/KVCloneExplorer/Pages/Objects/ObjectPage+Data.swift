import Foundation
import KVClone

/// The JSON document of an object begins like that of `kvclone get --json`: `id`, `attributes` and `relationships` with
/// the same names, order and encoding of values.
///
/// Instead of the bytes of a blob, and of a text of more than 128 KiB, it has their size and URL, and of a relationship
/// the first 1,000 members, with the URL of the rest in `further`.
extension ObjectPage {
  /// The reader for JSON and CSV.
  static let dataReader = ObjectReader(textLimit: 128 << 10, memberLimit: 1000, readsSamples: false)

  func write(to json: inout JSONWriter) {
    json.member("id", facts.name.id)
    json.key("attributes")
    json.beginObject()
    let attributes = Dictionary(facts.attributes.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
    write(facts.attributes.filter { $0.depth == 0 }, of: attributes, to: &json)
    json.endObject()
    json.key("relationships")
    json.beginObject()
    for link in facts.relationships.sorted(by: { AttributeJSON.utf8Precedes($0.title, $1.title) })
    where !link.members.isEmpty {
      json.key(link.title)
      Self.write(link, to: &json)
    }
    json.endObject()
    json.member("counts", Dictionary(facts.relationships.map { ($0.title, $0.count.value) }, uniquingKeysWith: max))
    json.key("nextMembers")
    json.beginObject()
    for link in facts.relationships + facts.incoming {
      json.member(link.title, link.next.map { links.members(link, from: $0) })
    }
    json.endObject()
    json.list("incoming", facts.incoming) { json, link in
      json.member("relationship", link.title)
      json.member("count", link.count.value)
      json.member("isLowerBound", link.count.isLowerBound)
      json.member("objects", link.members.map(\.name.id))
    }
    json.member("uri", facts.uri)
    json.member("commit", facts.commit)
    json.member("recordBytes", facts.recordLength)
    json.nullable("provenance", facts.provenance) { json, origin in
      json.nullable("source", origin.source?.id)
      json.nullable("store", origin.provenance.sourceStore?.uuidString)
      json.member("exists", origin.exists)
      json.member("sourceCommit", origin.provenance.sourceCommit)
      json.member("cloneCommit", origin.provenance.cloneCommit)
    }
    json.member("draft", isDraft)
    json.nullable("previous", facts.previous?.id)
    json.nullable("next", facts.next?.id)
  }

  private func write(_ level: [AttributeFacts], of all: [String: AttributeFacts], to json: inout JSONWriter) {
    for attribute in level.sorted(by: { AttributeJSON.utf8Precedes($0.description.name, $1.description.name) }) {
      let name = attribute.description.name
      if Self.isNull(attribute, in: all) {
        // As in a dump: null where a load would set a default.
        if !attribute.description.hasDefault || !attribute.description.isStored { continue }
        json.key(name)
        json.null()
        continue
      }
      switch attribute.content {
      case .transient, .unreadable, .null: continue
      case .composite:
        json.key(name)
        json.beginObject()
        write(Self.elements(of: attribute, in: all), of: all, to: &json)
        json.endObject()
      case .value(let value):
        json.key(name)
        AttributeJSON.write(value, to: &json)
      case .text(let text):
        json.key(name)
        if text.isWhole {
          json.string(text.beginning)
        } else {
          large(text.byteCount, links.text(attribute.path), to: &json)
        }
      case .bytes(let bytes):
        json.key(name)
        if bytes.isWhole {
          AttributeJSON.write(.binary(Data(bytes.sample)), to: &json)
        } else {
          large(bytes.source.byteCount, links.blob(attribute.path), to: &json)
        }
      }
    }
  }

  private static func elements(
    of attribute: AttributeFacts, in all: [String: AttributeFacts]
  ) -> [AttributeFacts] {
    attribute.description.elements.compactMap { all["\(attribute.path).\($0.name)"] }
  }

  /// Whether an attribute is nil: a composite one is, if all of its elements are.
  private static func isNull(_ attribute: AttributeFacts, in all: [String: AttributeFacts]) -> Bool {
    switch attribute.content {
    case .null, .transient: true
    case .composite: elements(of: attribute, in: all).allSatisfy { isNull($0, in: all) }
    case .unreadable, .value, .text, .bytes: false
    }
  }

  private func large(_ size: UInt64, _ target: String, to json: inout JSONWriter) {
    json.beginObject()
    json.member("size", size)
    json.member("url", target)
    json.endObject()
  }

  private static func write(_ link: LinkFacts, to json: inout JSONWriter) {
    if !link.description.isToMany { return json.string(link.members.first?.name.id ?? "") }
    json.beginArray()
    for member in link.members { json.string(member.name.id) }
    json.endArray()
  }

  var table: PageTable {
    var rows: [[String?]] = []
    for attribute in facts.attributes {
      let description = attribute.description
      var value: String?
      switch attribute.content {
      case .null, .composite, .transient, .unreadable: break
      case .value(let known): value = AttributeText.exact(known)
      case .text(let text): value = text.isWhole ? text.beginning : text.beginning + "…"
      case .bytes(let bytes): value = "<\(bytes.source.byteCount) bytes>"
      }
      rows.append(["attribute", attribute.path, AttributeText.type(description), nil, value])
    }
    for link in facts.relationships + facts.incoming {
      let kind = link.isIncoming ? "incoming" : "relationship"
      let names = link.members.map(\.name.id) + (link.next == nil ? [] : ["…"])
      rows.append([
        kind, link.title, link.description.destinationEntityName, String(link.count.value),
        names.isEmpty ? nil : names.joined(separator: " "),
      ])
    }
    return PageTable(columns: ["kind", "name", "type", "count", "value"], rows: rows)
  }
}

extension AttributeDescription {
  /// Whether an absent value would be loaded as anything but nil.
  fileprivate var hasDefault: Bool {
    !isDerived && (defaultValue != nil || elements.contains { $0.hasDefault })
  }
}
