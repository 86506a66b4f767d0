import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// The files of `GoldenStores`, stored as readable text, and the contents of stores created from them.
enum GoldenStore {
  static let versions = 3...7
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "GoldenStores")

  // MARK: Reading them

  static func text(_ name: String) throws -> String {
    try String(contentsOf: folder.appending(path: name), encoding: .utf8)
  }

  /// Creates a store's directory with the named files, by default with a data file only.
  static func place(_ data: String, log: String? = nil, at path: String) throws {
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    for (name, file) in [("data.mdb", data), ("commit.log", log)] {
      guard let file else { continue }
      let isMade = FileManager.default.createFile(
        atPath: path + "/" + name, contents: try decode(try text(file + ".txt")), attributes: [.posixPermissions: 0o600]
      )
      #expect(isMade)
    }
  }

  /// Returns the output of a dump.
  static func dump(_ body: ((RawSpan) throws -> Void) throws -> DumpResult) throws -> String {
    var bytes: [UInt8] = []
    _ = try body { piece in piece.withUnsafeBytes { bytes.append(contentsOf: $0) } }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Returns the contents of the store, and of each of its snapshots and branches.
  static func dumps(_ store: ObjectStore) throws -> String {
    var text = try dumpsOfOne(store)
    for name in try store.branches.list().map(\.name) {
      text += "branch \(name)\n" + (try dumpsOfOne(try store.branches.open(name)))
    }
    return text
  }

  /// Returns the contents of the store or of a branch, and of each of its snapshots.
  static func dumpsOfOne(_ store: ObjectStore) throws -> String {
    var text = try dump { try store.dump(to: $0) }
    for name in try store.snapshots().map(\.name) {
      text += "snapshot \(name)\n" + (try dump { try store.snapshot(named: name).dump(to: $0) })
    }
    return text
  }

  private static func decode(_ text: String) throws -> Data {
    let lines = text.split(separator: "\n")
    var bytes = Data(count: try #require(lines.first.flatMap { Int($0) }))
    for line in lines.dropFirst() {
      let parts = line.split(separator: " ")
      var offset = try #require(Int(parts[0])) * 32
      var digits = parts[1]
      while !digits.isEmpty {
        bytes[offset] = try #require(UInt8(digits.prefix(2), radix: 16))
        digits = digits.dropFirst(2)
        offset += 1
      }
    }
    return bytes
  }

  // MARK: Creating one

  /// Returns whether a file is missing and its creation is requested; existing files are never replaced.
  static func isToBeMade(_ name: String) -> Bool {
    ProcessInfo.processInfo.environment["KVCLONE_GOLDEN"] == "1"
      && !FileManager.default.fileExists(atPath: folder.appending(path: name + ".txt").path)
  }

  static func write(_ text: String, to name: String) throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: folder.appending(path: name + ".txt"))
  }

  static func keep(_ path: String, as name: String) throws {
    try write(encode(Data(contentsOf: URL(fileURLWithPath: path))), to: name)
  }

  /// The length, then each row of 32 bytes that is not all zeros, with its number and without trailing zeros.
  private static func encode(_ bytes: Data) -> String {
    var text = "\(bytes.count)\n"
    for start in stride(from: 0, to: bytes.count, by: 32) {
      let row = bytes[start..<min(start + 32, bytes.count)]
      guard row.contains(where: { $0 != 0 }) else { continue }
      let used = row.lastIndex { $0 != 0 }.map { row[start...$0] } ?? row
      text += "\(start / 32) " + used.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "\n"
    }
    return text
  }
}
