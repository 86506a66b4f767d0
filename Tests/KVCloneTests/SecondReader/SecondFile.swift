import Foundation
import KVCloneTestSupport

/// One key and its payload: the value after its checksum.
struct SecondEntry {
  let key: [UInt8]
  let payload: ArraySlice<UInt8>
  /// The range of the whole value in the file, checksum included; tests corrupt it.
  let range: Range<Int>
}

/// The tables of a `data.mdb`, read without LMDB, with every value verified against its checksum.
struct SecondFile {
  private(set) var tables: [String: [SecondEntry]] = [:]
  private let bytes: [UInt8]
  private let lastPage: UInt64

  static let codes: [String: UInt64] = [
    "metadata": 1, "links": 2, "blobs": 3, "blobinfo": 4, "indexes": 5, "changes": 6, "preimages": 7, "snapshots": 8,
    "provenance": 9, "operations": 10, "redirects": 11, "overlays": 13, "branches": 14,
  ]

  /// Whether a table has preimages, and entries in layers of branches.
  static func isVersioned(_ code: UInt64) -> Bool { [2, 4, 5, 9].contains(code) || code > 0x8000 }

  /// A file with other tables.
  init(tables: [String: [SecondEntry]], of file: SecondFile) {
    self.tables = tables
    (bytes, lastPage) = (file.bytes, file.lastPage)
  }

  init(path: String) throws { try self.init([UInt8](try Data(contentsOf: URL(fileURLWithPath: path + "/data.mdb")))) }

  init(_ bytes: [UInt8]) throws {
    self.bytes = bytes
    let metas = try [0, 1].map { try Self.meta(bytes, page: $0) }
    let meta = metas[0].transaction >= metas[1].transaction ? metas[0] : metas[1]
    lastPage = meta.lastPage
    var named: [SecondEntry] = []
    try walk(meta.root) { key, flags, range in
      guard flags == 2, range.count == 48 else { throw SecondError("the main tree holds what is not a table") }
      named.append(SecondEntry(key: key, payload: bytes[range], range: range))
    }
    for table in named {
      var tree = SecondBytes(table.payload)
      try tree.zero(6)
      _ = try tree.take(26)
      let count = try tree.u64()
      let root = try tree.u64()
      let name = String(decoding: table.key, as: UTF8.self)
      let entries = try self.entries(name, root: root)
      guard UInt64(entries.count) == count else { throw SecondError("\(name) has a wrong number of entries") }
      tables[name] = entries
    }
  }

  private static func meta(_ bytes: [UInt8], page: Int) throws -> (transaction: UInt64, root: UInt64, lastPage: UInt64)
  {
    guard bytes.count >= 8192 else { throw SecondError("the file has no meta pages") }
    var meta = SecondBytes(bytes[page * 4096..<page * 4096 + 4096])
    let number = try meta.u64()
    try meta.zero(2)
    guard number == page, try meta.u16() == 8 else { throw SecondError("page \(page) is not a meta page") }
    _ = try meta.u32()
    guard try meta.u32() == 0xBEEF_C0DE, try meta.u32() == 1 else { throw SecondError("this is not an LMDB file") }
    _ = try meta.take(16)
    guard try meta.u32() == 4096 else { throw SecondError("the pages do not have 4096 bytes") }
    _ = try meta.take(44 + 40)
    let root = try meta.u64()
    let last = try meta.u64()
    return (try meta.u64(), root, last)
  }

  /// Verifies the checksum of a value, and returns the bytes after it.
  static func payload(of value: ArraySlice<UInt8>, key: [UInt8], table name: String) throws -> ArraySlice<UInt8> {
    try payload(of: value, key: key, code: try code(name))
  }

  static func payload(of value: ArraySlice<UInt8>, key: [UInt8], code table: UInt64) throws -> ArraySlice<UInt8> {
    var bytes = SecondBytes(value)
    let check = try bytes.u64()
    let payload = bytes.rest()
    let isFormat = table == 1 && key == Array("format".utf8)
    let sum =
      isFormat
      ? secondXXH64(payload, seed: secondXXH64(key, seed: table))
      : secondXXH3(payload, seed: secondXXH3(key, seed: table))
    guard check == sum else {
      throw SecondError("a checksum in table \(table) does not hold")
    }
    return payload
  }

  private func entries(_ name: String, root: UInt64) throws -> [SecondEntry] {
    var entries: [SecondEntry] = []
    try walk(root) { key, flags, range in
      guard flags & ~1 == 0 else { throw SecondError("\(name) has duplicates") }
      let payload = try Self.payload(of: bytes[range], key: key, table: name)
      if let last = entries.last, !last.key.lexicographicallyPrecedes(key) {
        throw SecondError("\(name) is not sorted")
      }
      entries.append(SecondEntry(key: key, payload: payload, range: range))
    }
    return entries
  }

  static func code(_ name: String) throws -> UInt64 {
    if let code = codes[name] { return code }
    guard name.hasPrefix("objects-"), let root = UInt64(name.dropFirst(8), radix: 16), 1...0x7FFF ~= root,
      name == "objects-" + String(format: "%04x", root)
    else { throw SecondError("there is no table \(name)") }
    return 0x8000 + root
  }

  /// Calls `body` with every key of a B+tree, in order, with its flags and the range of its value.
  private func walk(_ page: UInt64, _ body: ([UInt8], UInt16, Range<Int>) throws -> Void) throws {
    if page == .max { return }
    let start = try place(page)
    var header = SecondBytes(bytes[start..<start + 16])
    let number = try header.u64()
    _ = try header.u16()
    let flags = try header.u16()
    let count = (Int(try header.u16()) - 16) / 2
    guard number == page, flags == 1 || flags == 2 else { throw SecondError("page \(page) is damaged") }
    var offsets = SecondBytes(bytes[(start + 16)..<(start + 16 + count * 2)])
    for _ in 0..<count {
      let at = start + Int(try offsets.u16())
      var node = SecondBytes(bytes[at..<start + 4096])
      let low = UInt64(try node.u32())
      let nodeFlags = try node.u16()
      let key = Array(try node.take(Int(try node.u16())))
      if flags == 1 {
        try walk(low | UInt64(nodeFlags) << 32, body)
      } else if nodeFlags & 1 != 0 {
        let first = try place(try node.u64()) + 16
        guard first + Int(low) <= bytes.count else { throw SecondError("a value lies beyond the file") }
        try body(key, nodeFlags, first..<first + Int(low))
      } else {
        try body(key, nodeFlags, (at + 8 + key.count)..<(at + 8 + key.count + Int(low)))
      }
    }
  }

  private func place(_ page: UInt64) throws -> Int {
    guard page >= 2, page <= lastPage, page < bytes.count / 4096 else {
      throw SecondError("page \(page) does not exist")
    }
    return Int(page) * 4096
  }
}
