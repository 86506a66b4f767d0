import Foundation
import KVClone
import KVCloneCore
import KVCloneExplorer
import KVCloneOperations
import KVCloneQuery
import Testing

@testable import KVCloneTool

@Suite("kvclone: stat")
struct StatCommandTests {
  private func filled() throws -> Scratch {
    let scratch = try Scratch()
    try scratch.makeStore()
    var lines = "{\"id\":\"Tag/1\",\"attributes\":{\"label\":\"a \\\"quoted\\\" one\"}}\n"
    for number in 1...200 { lines += "{\"id\":\"Item/\(number)\",\"relationships\":{\"tags\":[\"Tag/1\"]}}\n" }
    lines += "{\"id\":\"Note/1\",\"relationships\":{\"items\":[\"Item/1\",\"Item/2\"]}}\n"
    try scratch.succeed("load", "-", input: lines)
    try Data(repeating: 7, count: 123_456).write(to: URL(fileURLWithPath: scratch.file("image")))
    try scratch.succeed("blob", "put", "Note/1", "data", scratch.file("image"))
    try scratch.succeed("clone", "Note/1")
    return scratch
  }

  @Test("cheap facts: table and JSON")
  func cheap() throws {
    let scratch = try filled()
    let text = try scratch.succeed("stat").text
    for line in text.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
    for word in ["TABLE", "ENTITY", "readers    none", "writer     none", "KiB"] {
      #expect(text.contains(word), "\(text)")
    }
    let json = try scratch.succeed("stat", "--json").json()
    #expect(json["objects"] as? Int == 205)
    #expect(json["counts"] as? [String: Int] == ["Item": 202, "Note": 2, "Summary": 0, "Tag": 1])
    let info = try scratch.succeed("info", "--json").json()
    for name in ["store", "commit", "objects", "snapshots", "fileBytes"] {
      #expect(json[name] as? NSObject == info[name] as? NSObject, "\(name)")
    }
    let pages = try #require(json["pages"] as? [String: Int])
    #expect(pages["total"] == (pages["used"] ?? 0) + (pages["free"] ?? 0))
    #expect(pages["free"] == (pages["reusable"] ?? 0) + (pages["held"] ?? 0) + (pages["recent"] ?? 0))
    #expect(json["writer"] is NSNull && json["oldestReader"] is NSNull && json["readers"] as? Int == 0)
    let tables = try #require(json["tables"] as? [[String: Any]])
    let blobs = try #require(tables.first { $0["name"] as? String == "blobs" })
    #expect(blobs["entries"] as? Int == 1 && blobs["overflowPages"] as? Int == 31)
    #expect(json["areas"] == nil)
  }

  @Test("deep: every byte once, in JSON and in a table")
  func deep() throws {
    let scratch = try filled()
    let json = try scratch.succeed("stat", "--deep", "--format", "json").json()
    let areas = try #require(json["areas"] as? [[String: Any]])
    let sum = areas.reduce(0) { $0 + ($1["bytes"] as? Int ?? 0) }
    let total = try #require((json["pages"] as? [String: Int])?["total"])
    #expect(sum == total * (json["pageSize"] as? Int ?? 0))
    let values = try #require((json["largeValues"] as? [[String: Any]])?.first)
    #expect(values["entity"] as? String == "Note" && values["attribute"] as? String == "data")
    #expect(values["values"] as? Int == 1 && values["references"] as? Int == 2)
    #expect(values["savedBytes"] as? Int == 123_456)
    let relationships = try #require(json["relationships"] as? [[String: Any]])
    let items = try #require(
      relationships.first { $0["entity"] as? String == "Tag" && $0["name"] as? String == "items" })
    #expect(items["links"] as? Int == 202 && items["lists"] as? Int == 1)
    #expect((json["entities"] as? [[String: Any]])?.count == 4)
    #expect((json["indexes"] as? [[String: Any]])?.first?["unique"] as? Bool == true)
    #expect(json["fragmentation"] is Double && json["compactionSavings"] is Int)
    let text = try scratch.succeed("stat", "--deep").text
    for line in text.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
    for word in ["AREA", "RELATIONSHIP", "BLOBS", "INDEX", "PAGES OF", "all pages", "100.0 %", "an estimate"] {
      #expect(text.contains(word), "\(word): \(text)")
    }
  }

  @Test("Prometheus text, cheap and deep")
  func prometheus() throws {
    let scratch = try filled()
    let cheap = try Exposition(try scratch.succeed("stat", "--format", "prometheus").text)
    #expect(cheap.value("kvclone_objects", ["entity": "Item"]) == 202)
    #expect(cheap.types["kvclone_commits_total"] == "counter" && cheap.types["kvclone_objects"] == "gauge")
    #expect(cheap.value("kvclone_writer_active") == 0 && cheap.value("kvclone_readers") == 0)
    let pageSize = try #require(cheap.value("kvclone_page_size_bytes"))
    let pages = ["used", "reusable", "held", "recent"].compactMap { cheap.value("kvclone_pages", ["state": $0]) }
    #expect(pages.count == 4)
    #expect(!cheap.names.contains("kvclone_area_bytes"))
    let deep = try Exposition(try scratch.succeed("stat", "--deep", "--format", "prometheus").text)
    #expect(deep.names.isSuperset(of: cheap.names))
    let areas = deep.samples.filter { $0.name == "kvclone_area_bytes" }.reduce(0) { $0 + $1.value }
    #expect(areas == pages.reduce(0, +) * pageSize)
    let labels = ["entity": "Note", "attribute": "data"]
    #expect(deep.types["kvclone_large_value_size_bytes"] == "histogram")
    #expect(deep.value("kvclone_large_value_size_bytes_sum", labels) == 123_456)
    let buckets = deep.samples.filter { $0.name == "kvclone_large_value_size_bytes_bucket" }
    #expect(buckets.last?.labels["le"] == "+Inf" && buckets.last?.value == 1)
    #expect(zip(buckets, buckets.dropFirst()).allSatisfy { $0.value <= $1.value })
    #expect(buckets.contains { $0.labels["le"] == "65536" && $0.value == 0 })
    #expect(buckets.contains { $0.labels["le"] == "262144" && $0.value == 1 })
  }

  @Test("unknown values are omitted from the Prometheus text, which has no NaN")
  func unknownAge() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    let idle = try Exposition(try scratch.succeed("stat", "--format", "prometheus").text)
    #expect(idle.value("kvclone_oldest_reader_age_seconds") == 0)
    let peer = try ReadersCommandTests.pin(scratch)
    defer { if peer.isRunning { kill(peer.processIdentifier, SIGKILL) } }
    // Without a history, commits have no time, and readers of other processes no age.
    for _ in 0..<3 { try scratch.succeed("insert", "Note") }
    let held = try Exposition(try scratch.succeed("stat", "--format", "prometheus").text)
    #expect(try #require(held.value("kvclone_oldest_reader_lag_commits")) == 3)
    #expect(!held.names.contains("kvclone_oldest_reader_age_seconds"))
    #expect(held.samples.allSatisfy { $0.value.isFinite })
  }

  @Test("an SVG whose rectangles tile the map, the same each time")
  func svg() throws {
    let scratch = try filled()
    try scratch.succeed("stat", "--format", "svg", "-o", scratch.file("map.svg"))
    let text = String(decoding: try scratch.read("map.svg"), as: UTF8.self)
    #expect(try scratch.succeed("stat", "--format", "svg").text == text)
    let tiles = try Drawing(text).tiles
    #expect(tiles.count >= 8)
    // All tiles are within the map, do not overlap, and cover it.
    let (left, right) = (tiles.map(\.left).min() ?? 0, tiles.map(\.right).max() ?? 0)
    let (top, bottom) = (tiles.map(\.top).min() ?? 0, tiles.map(\.bottom).max() ?? 0)
    #expect(left == 0 && right == 96_000)
    #expect(tiles.reduce(0) { $0 + $1.area } == (right - left) * (bottom - top))
    for (index, tile) in tiles.enumerated() {
      for other in tiles[(index + 1)...] { #expect(!tile.overlaps(other)) }
    }
    #expect(text.contains("prefers-color-scheme: dark") && text.contains("blobs: Note.data"))
    #expect(!text.contains("<script"))
  }

  @Test("a file of metrics has the permissions that the umask allows", arguments: [("022", 0o644), ("077", 0o600)])
  func mode(_ umask: String, _ mode: Int) throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    let script =
      "umask \(umask); exec '\(Scratch.executable)' -s \(scratch.store) stat --format prometheus -o \(scratch.file("m"))"
    #expect(try scratch.runProgram("/bin/sh", ["-c", script]).code == 0)
    let attributes = try FileManager.default.attributesOfItem(atPath: scratch.file("m"))
    #expect(attributes[.posixPermissions] as? Int == mode)
    #expect(try Exposition(String(decoding: try scratch.read("m"), as: UTF8.self)).value("kvclone_readers") == 0)
  }

  @Test("a treemap's rectangles tile, whatever the sizes")
  func treemap() {
    let area = Treemap.Rectangle(left: 0, top: 0, right: 960, bottom: 540)
    let squares: [Double] = (1...200).reversed().map { (number: Int) in Double(number * number) }
    let cases: [[Double]] = [[1], [5, 5, 5], squares, [1e12, 1, 1, 1], [3, 0, 0]]
    for sizes in cases {
      let places = Treemap.layout(sizes, in: area)
      #expect(places.count == sizes.count)
      let sum = sizes.reduce(0, +)
      for (size, place) in zip(sizes, places) {
        let wanted: Double = size / sum * area.width * area.height
        #expect(abs(place.width * place.height - wanted) < 1e-3, "\(sizes.count)")
        #expect(place.left >= 0 && place.top >= 0 && place.right <= 960 && place.bottom <= 540)
      }
    }
    #expect(Treemap.layout([], in: area).isEmpty)
    // Sixteen equal tiles in a square are squares.
    let equal = Treemap.layout(
      Array(repeating: 1, count: 16), in: Treemap.Rectangle(left: 0, top: 0, right: 400, bottom: 400))
    #expect(equal.allSatisfy { abs($0.width - 100) < 1e-9 && abs($0.height - 100) < 1e-9 })
  }

  @Test("labels are escaped")
  func names() throws {
    let name = "a\"b\\c\nd"
    let escaped = StatMetrics.escaped(name)
    #expect(escaped == #"a\"b\\c\nd"#)
    let exposition = try Exposition(
      "# HELP kvclone_objects Objects.\n# TYPE kvclone_objects gauge\nkvclone_objects{entity=\"\(escaped)\"} 3\n")
    #expect(exposition.value("kvclone_objects", ["entity": name]) == 3)
  }

  @Test("usage, and a store that is not there")
  func usage() throws {
    let scratch = try Scratch()
    #expect(try scratch.tool("stat").code == 10)
    #expect(try scratch.tool("stat", "--format", "pdf").code == 64)
    #expect(try scratch.tool("stat", "--json", "--format", "svg").code == 64)
    #expect(try scratch.tool("stat", "-o", "").code == 64)
    try scratch.makeStore()
    #expect(try scratch.tool("stat", "-o", "/nowhere/at/all").code == 1)
    #expect(try scratch.succeed("stat", "--deep", "--json").json()["objects"] as? Int == 0)
  }

  @Test("stat and readers show the holder of the write lock")
  func writer() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    let holder = try LockHolder(scratch.store, label: "reindex")
    let pid = Int(holder.pid)
    for command in ["stat", "readers"] {
      let writer = try #require(try scratch.succeed(command, "--json").json()["writer"] as? [String: Any], "\(command)")
      #expect(writer["pid"] as? Int == pid && writer["label"] as? String == "reindex")
      #expect(writer["process"] as? String == "KVClonePeer" && (writer["seconds"] as? Double ?? -1) >= 0)
      #expect((try? Date(writer["since"] as? String ?? "", strategy: .iso8601)) != nil)
      let text = try scratch.succeed(command).text
      #expect(text.contains("process \(pid) (KVClonePeer), “reindex”, since "), "\(text)")
    }
    let metrics = try Exposition(try scratch.succeed("stat", "--format", "prometheus").text)
    #expect(metrics.value("kvclone_writer_active") == 1)
    try holder.release()
    #expect(try scratch.succeed("readers", "--json").json()["writer"] is NSNull)
    try scratch.succeed("check")
  }
}

/// A parser of Prometheus's text format that rejects invalid input.
private struct Exposition {
  struct Sample {
    let name: String
    let labels: [String: String]
    let value: Double
  }

  struct Malformed: Error { let line: String }

  private(set) var samples: [Sample] = []
  private(set) var types: [String: String] = [:]
  var names: Set<String> { Set(samples.map(\.name)) }

  init(_ text: String) throws {
    var helps: Set<String> = []
    guard text.hasSuffix("\n") else { throw Malformed(line: "the end") }
    for line in text.split(separator: "\n").map(String.init) {
      if line.hasPrefix("# HELP ") {
        let name = String(line.dropFirst(7).prefix { $0 != " " })
        guard helps.insert(name).inserted else { throw Malformed(line: line) }
      } else if line.hasPrefix("# TYPE ") {
        let words = line.dropFirst(7).split(separator: " ").map(String.init)
        guard words.count == 2, types[words[0]] == nil, helps.contains(words[0]) else { throw Malformed(line: line) }
        types[words[0]] = words[1]
      } else {
        let sample = try Self.sample(line)
        let base = ["_bucket", "_sum", "_count"].reduce(sample.name) { name, suffix in
          types[name] == nil && name.hasSuffix(suffix) ? String(name.dropLast(suffix.count)) : name
        }
        guard types[base] != nil else { throw Malformed(line: line) }
        samples.append(sample)
      }
    }
  }

  private static func sample(_ line: String) throws -> Sample {
    let name = line.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
    var rest = line.dropFirst(name.count)
    var labels: [String: String] = [:]
    guard name.hasPrefix("kvclone_") else { throw Malformed(line: line) }
    if rest.first == "{" {
      rest = rest.dropFirst()
      while rest.first != "}" {
        let key = rest.prefix { $0 != "=" }
        rest = rest.dropFirst(key.count)
        guard rest.hasPrefix("=\"") else { throw Malformed(line: line) }
        rest = rest.dropFirst(2)
        var value = ""
        while let character = rest.popFirst(), character != "\"" {
          guard character == "\\" else {
            value.append(character)
            continue
          }
          switch rest.popFirst() {
          case "\\": value.append("\\")
          case "\"": value.append("\"")
          case "n": value.append("\n")
          default: throw Malformed(line: line)
          }
        }
        labels[String(key)] = value
        if rest.first == "," { rest = rest.dropFirst() }
        if rest.isEmpty { throw Malformed(line: line) }
      }
      rest = rest.dropFirst()
    }
    guard rest.first == " ", let value = Double(rest.dropFirst()) else { throw Malformed(line: line) }
    return Sample(name: String(name), labels: labels, value: value)
  }

  func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
    samples.first { $0.name == name && $0.labels == labels }?.value
  }
}

/// The rectangles of a drawing, in hundredths; throws for invalid XML.
private final class Drawing {
  struct Tile {
    let left: Int, top: Int, right: Int, bottom: Int
    var area: Int { (right - left) * (bottom - top) }

    func overlaps(_ other: Tile) -> Bool {
      min(right, other.right) > max(left, other.left) && min(bottom, other.bottom) > max(top, other.top)
    }
  }

  struct Malformed: Error { let text: String }

  private(set) var tiles: [Tile] = []

  /// Checks the nesting of elements and the escaping of attributes and text, the only XML errors that the drawing code
  /// can make.
  init(_ text: String) throws {
    var open: [Substring] = []
    var rest = text[...]
    while let start = rest.firstIndex(of: "<") {
      let between = rest[..<start]
      if between.contains(">") || Self.hasBareAmpersand(between) { throw Malformed(text: String(between)) }
      guard let end = rest[start...].firstIndex(of: ">") else { throw Malformed(text: String(rest)) }
      let tag = rest[rest.index(after: start)..<end]
      rest = rest[rest.index(after: end)...]
      let name = tag.prefix { $0 != " " && $0 != "/" }
      if tag.hasPrefix("/") {
        guard open.popLast() == tag.dropFirst() else { throw Malformed(text: String(tag)) }
        continue
      }
      if tag.filter({ $0 == "\"" }).count % 2 != 0 || Self.hasBareAmpersand(tag) { throw Malformed(text: String(tag)) }
      if !tag.hasSuffix("/") { open.append(name) }
      if name == "rect", !tag.contains("ground") { tiles.append(try Self.tile(tag)) }
    }
    if !open.isEmpty { throw Malformed(text: "\(open)") }
  }

  private static func hasBareAmpersand(_ text: Substring) -> Bool {
    text.indices.contains { index in
      text[index] == "&" && !["&amp;", "&lt;", "&gt;", "&quot;"].contains { text[index...].hasPrefix($0) }
    }
  }

  private static func tile(_ tag: Substring) throws -> Tile {
    func number(_ name: String) throws -> Int {
      guard let range = tag.range(of: " \(name)=\"") else { throw Malformed(text: String(tag)) }
      let digits = tag[range.upperBound...].prefix { $0 != "\"" }
      guard let value = Double(digits) else { throw Malformed(text: String(tag)) }
      return Int((value * 100).rounded())
    }
    let (x, y) = (try number("x"), try number("y"))
    return Tile(left: x, top: y, right: x + (try number("width")), bottom: y + (try number("height")))
  }
}
