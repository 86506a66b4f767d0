import Foundation
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// A closed store, changed copies of its file, and the results of salvaging them.
final class SalvageFixture {
  let root: String
  let path: String
  let sound: [UInt8]
  /// The lines of the store's dump, by id.
  let lines: [String: String]
  private let model: ManagedObjectModel
  private var count = 0

  /// Takes the file of a store, and closes the store.
  init(_ files: TestStore) throws {
    root = try temporaryDirectory()
    path = root + "/damaged"
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    model = files.store.model
    #expect(try files.store.check(CheckOptions(readData: true)).issues == [])
    lines = try Self.lines(files.store)
    files.store.close()
    sound = [UInt8](try Data(contentsOf: URL(fileURLWithPath: files.path + "/data.mdb")))
  }

  deinit { try? FileManager.default.removeItem(atPath: root) }

  static func lines(_ store: ObjectStore) throws -> [String: String] {
    var bytes: [UInt8] = []
    _ = try store.dump { piece in piece.withUnsafeBytes { bytes.append(contentsOf: $0) } }
    var lines: [String: String] = [:]
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n").dropFirst() {
      let id = try #require(line.split(separator: "\"").dropFirst(3).first)
      lines[String(id)] = String(line)
    }
    return lines
  }

  func write(_ bytes: [UInt8]) throws {
    let file = path + "/data.mdb"
    try Data(bytes).write(to: URL(fileURLWithPath: file))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
  }

  /// Salvages a file with these bytes, which must stay unchanged.
  func salvage(_ bytes: [UInt8], _ options: SalvageOptions = SalvageOptions()) throws -> Salvaged {
    try write(bytes)
    count += 1
    let target = root + "/salvaged-\(count)"
    let report = try ObjectStore.salvage(from: path, to: target, options: options)
    defer { try? FileManager.default.removeItem(atPath: target) }
    let after = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path + "/data.mdb")))
    #expect(after == bytes, "the damaged store was written")
    let store = try ObjectStore.open(at: target)
    defer { store.close() }
    #expect(try store.check(CheckOptions(readData: true)).issues == [])
    let lines = try Self.lines(store)
    #expect(report.objectCount == lines.count)
    return Salvaged(report: report, lines: lines, uuid: store.uuid)
  }

  struct Salvaged {
    let report: SalvageReport
    let lines: [String: String]
    let uuid: UUID
  }

  /// Expects that every object that is not reported as lost or changed is unchanged, and that there are no other
  /// objects except the reported ones.
  func explain(_ salvaged: Salvaged, _ what: @autoclosure () -> String, _ location: SourceLocation = #_sourceLocation) {
    let report = salvaged.report
    #expect(!report.isTruncated, sourceLocation: location)
    let named = Set(report.losses.compactMap(\.object))
    func isNamed(_ id: String) -> Bool {
      named.contains(id) || id.split(separator: "/").last.map { named.contains("\(root(of: id))/\($0)") } == true
    }
    var missing = 0
    for (id, line) in lines where salvaged.lines[id] != line {
      if salvaged.lines[id] == nil {
        missing += 1
      } else if !isNamed(id) {
        Issue.record(
          "\(what()): \(id) is not what it was: \(salvaged.lines[id] ?? "") instead of \(line)",
          sourceLocation: location)
      }
    }
    for id in salvaged.lines.keys where lines[id] == nil && !isNamed(id) {
      Issue.record("\(what()): \(id) came back", sourceLocation: location)
    }
    let unknown = [.objects, .state, .metadata].contains { report.lossCounts[$0] != nil }
    #expect(
      missing <= report.lostObjectCount || unknown, "\(what()): \(missing) objects are missing",
      sourceLocation: location)
    if report.isComplete { #expect(salvaged.lines == lines, "\(what())", sourceLocation: location) }
  }

  private func root(of id: String) -> String {
    var name = String(id.split(separator: "/").first ?? "")
    while let parent = model.entity(named: name)?.superentityName { name = parent }
    return name
  }

  /// Returns the file with the given pages zeroed.
  func without(_ pages: [Int]) -> [UInt8] {
    var bytes = sound
    for page in pages { for offset in page * 4096..<min(bytes.count, (page + 1) * 4096) { bytes[offset] = 0 } }
    return bytes
  }

  /// Returns the pages that contain some bytes.
  func pages(with text: [UInt8]) -> [Int] {
    (2..<sound.count / 4096).filter { sound[$0 * 4096..<($0 + 1) * 4096].firstRange(of: text) != nil }
  }
}
