import Foundation

/// The shim's journal: every change of the store's files, every sync and every acknowledgement, in order.
struct Journal: Sendable {
  enum Entry: Sendable {
    case write(file: UInt64, offset: Int, bytes: Range<Int>, isDurable: Bool)
    case sync(file: UInt64)
    /// A sync that failed, after which nothing that was written before is sure ever to arrive.
    case lostSync(file: UInt64)
    case truncate(file: UInt64, length: Int)
    case newFile(file: UInt64, path: String)
    case newDirectory(inode: UInt64, path: String)
    case rename(from: String, to: String)
    case unlink(path: String)
    case syncDirectory(inode: UInt64)
    case acknowledge(line: String)
    /// Dirty pages were written ahead of their commit.
    case spill
  }

  let entries: [Entry]
  /// The file; `bytes` of entries are ranges of it.
  let data: Data

  private static let headLength = 32

  init(contentsOf path: String) throws {
    data = try Data(contentsOf: URL(fileURLWithPath: path))
    entries = try data.withUnsafeBytes { try Journal.parse($0) }
  }

  /// Where the power can go between a spill and the acknowledgement of its commit: how many entries are before it.
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

  /// Where the power can go as soon as the store, or a copy of it, has its name: how many entries are before it.
  var endsAfterNaming: [Int] {
    entries.indices.filter { index in
      guard case .acknowledge(let line) = entries[index] else { return false }
      return line == "ack 0\n" || line.hasPrefix("copied ")
    }.map { $0 + 1 }
  }

  /// Where the power can go while these commits are under way, or when they are acknowledged: how many entries are before
  /// it.
  func ends(during commits: ClosedRange<Int>) -> [Int] {
    let numbers = commits.lowerBound - 1...commits.upperBound
    let acknowledgements = entries.indices.filter { index in
      guard case .acknowledge(let line) = entries[index] else { return false }
      return Acknowledgement(line: line).map { numbers ~= $0.number } == true
    }
    guard let first = acknowledgements.first, let last = acknowledgements.last else { return [] }
    return Array(first + 1...last + 1)
  }

  /// Where the power can go while a copy is made, or when one was: how many entries are before it.
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
