import Foundation

/// The shim's journal: every change of the store's files, every sync and every acknowledgement, in order.
struct Journal: Sendable {
  enum Entry: Sendable {
    case write(file: UInt64, offset: Int, bytes: Range<Int>, isDurable: Bool)
    case sync(file: UInt64)
    /// A failed sync. Writes before it may never become durable.
    case lostSync(file: UInt64)
    case truncate(file: UInt64, length: Int)
    case newFile(file: UInt64, path: String)
    case newDirectory(inode: UInt64, path: String)
    case rename(from: String, to: String)
    case unlink(path: String)
    case syncDirectory(inode: UInt64)
    case acknowledge(line: String)
    /// Dirty pages were spilled before their commit.
    case spill
  }

  let entries: [Entry]
  /// The journal file; `bytes` of entries are ranges of it.
  let data: Data

  private static let headLength = 32

  init(contentsOf path: String) throws {
    data = try Data(contentsOf: URL(fileURLWithPath: path))
    entries = try data.withUnsafeBytes { try Journal.parse($0) }
  }

  /// The possible ends of the journal between a spill and the acknowledgement of its commit, as numbers of entries.
  var endsAfterSpills: [Int] {
    var ends: [Int] = []
    var hasSpilled = false
    for (index, entry) in entries.enumerated() {
      if hasSpilled { ends.append(index) }
      switch entry {
      case .spill: hasSpilled = true
      case .acknowledge: hasSpilled = false
      default: break
      }
    }
    return ends
  }

  /// The ends of the journal right after the acknowledgement of the store or a copy, as numbers of entries.
  var endsAfterNaming: [Int] {
    entries.indices.filter { index in
      guard case .acknowledge(let line) = entries[index] else { return false }
      return line == "ack 0\n" || line.hasPrefix("copied ")
    }.map { $0 + 1 }
  }

  /// The possible ends of the journal during these commits or at their acknowledgements, as numbers of entries.
  func ends(during commits: ClosedRange<Int>) -> [Int] {
    let numbers = commits.lowerBound - 1...commits.upperBound
    let acknowledgements = entries.indices.filter { index in
      guard case .acknowledge(let line) = entries[index] else { return false }
      return Acknowledgement(line: line).map { numbers ~= $0.number } == true
    }
    guard let first = acknowledgements.first, let last = acknowledgements.last else { return [] }
    return Array(first + 1...last + 1)
  }

  /// The possible ends of the journal during the first copy and later, as numbers of entries.
  var endsAmongCopies: [Int] {
    let first = entries.firstIndex { entry in
      if case .acknowledge(let line) = entry { return line.hasPrefix("copying ") }
      return false
    }
    return first.map { Array($0...entries.count) } ?? []
  }

  private static func parse(_ bytes: UnsafeRawBufferPointer) throws -> [Entry] {
    var entries: [Entry] = []
    var position = 0
    while position + headLength <= bytes.count {
      func number(_ offset: Int) -> UInt64 { bytes.loadUnaligned(fromByteOffset: position + offset, as: UInt64.self) }
      func short(_ offset: Int) -> Int {
        Int(bytes.loadUnaligned(fromByteOffset: position + offset, as: UInt16.self))
      }
      let (type, file, offset, length) = (bytes[position], number(8), Int(number(16)), Int(number(24)))
      let firstStart = position + headLength
      let secondStart = firstStart + short(2)
      let dataStart = secondStart + short(4)
      guard dataStart + length <= bytes.count else { break }
      func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
      let (first, second) = (text(firstStart..<secondStart), text(secondStart..<dataStart))
      let content = dataStart..<dataStart + length
      switch type {
      case UInt8(ascii: "W"): entries.append(.write(file: file, offset: offset, bytes: content, isDurable: false))
      case UInt8(ascii: "D"): entries.append(.write(file: file, offset: offset, bytes: content, isDurable: true))
      case UInt8(ascii: "S"): entries.append(.sync(file: file))
      case UInt8(ascii: "F"): entries.append(.lostSync(file: file))
      case UInt8(ascii: "T"): entries.append(.truncate(file: file, length: offset))
      case UInt8(ascii: "C"): entries.append(.newFile(file: file, path: first))
      case UInt8(ascii: "M"): entries.append(.newDirectory(inode: file, path: first))
      case UInt8(ascii: "R"): entries.append(.rename(from: first, to: second))
      case UInt8(ascii: "U"), UInt8(ascii: "X"): entries.append(.unlink(path: first))
      case UInt8(ascii: "Y"): entries.append(.syncDirectory(inode: file))
      case UInt8(ascii: "A"): entries.append(.acknowledge(line: text(content)))
      case UInt8(ascii: "P"): entries.append(.spill)
      default: throw Finding("the journal has an entry of an unknown type at byte \(position)")
      }
      position = content.upperBound
    }
    return entries
  }
}
