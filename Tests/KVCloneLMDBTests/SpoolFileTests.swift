import Foundation
import Testing

@testable import KVCloneLMDB

/// A spool returns the written bytes, leaves no file, and does not fill the disk.
@Suite struct SpoolFileTests {
  private let store: TemporaryStore

  init() throws {
    store = try TemporaryStore()
  }

  private func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: store.root) }

  private func readAll(_ spool: SpoolFile, upTo limit: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while try spool.read(into: &bytes, upTo: limit) {}
    return bytes
  }

  /// With file systems that have O_TMPFILE, and those without.
  @Test(arguments: [true, false]) func whatIsWrittenIsReadBack(canBeUnnamed: Bool) throws {
    let seed = UInt64.random(in: 0 ... .max)
    var generator = SeededGenerator(seed: seed)
    let spool = try SpoolFile(directory: store.root, canBeUnnamed: canBeUnnamed)
    for round in 0..<20 {
      var written: [UInt8] = []
      for _ in 0..<Int(generator.next() % 20) {
        let piece = (0..<Int(generator.next() % 5_000)).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
        try spool.append(piece.span.bytes)
        written += piece
      }
      #expect(spool.byteCount == written.count)
      let read = try readAll(spool, upTo: Int(generator.next() % 9_000) + 1)
      #expect(read == written, "seed \(seed), round \(round)")
      // Shorter contents show nothing of previous longer ones.
      spool.removeAll()
      #expect(try readAll(spool, upTo: 100).isEmpty)
    }
    #expect(try names().isEmpty)
  }

  @Test(arguments: [true, false]) func noOtherProgramGetsTheFile(canBeUnnamed: Bool) throws {
    let spool = try SpoolFile(directory: store.root, canBeUnnamed: canBeUnnamed)
    let flags = try String(contentsOfFile: "/proc/self/fdinfo/\(spool.descriptor)", encoding: .utf8)
      .split(separator: "\n").first { $0.hasPrefix("flags:") }
    let value = try #require(flags.flatMap { Int($0.split(separator: "\t").last ?? "", radix: 8) })
    #expect(value & 0o2000000 != 0, "close on exec")
    let facts = try FileSystem.facts(descriptor: spool.descriptor)
    #expect(facts.links == 0 && facts.mode == 0o600 && facts.kind == .regularFile)
  }

  /// Without O_TMPFILE, a process may be killed between `open` and `unlink`.
  @Test func whatAKilledProcessLeftIsRemoved() throws {
    let names = ["kvclone-scratch-1-2", "kvclone-scratch-3-4", "scratch-5-6", "kvclone-scratch-7-8"]
    for name in names { try Data().write(to: URL(fileURLWithPath: "\(store.root)/\(name)")) }
    try Data([1]).write(to: URL(fileURLWithPath: "\(store.root)/\(names[1])"))
    FileSystem.removeFile("\(store.root)/\(names[3])")
    try FileSystem.createDirectory("\(store.root)/\(names[3])")
    _ = try SpoolFile(directory: store.root, canBeUnnamed: false)
    // A file with bytes or another name, and an entry that is not a file, is not a leftover.
    #expect(try self.names().sorted() == ["kvclone-scratch-3-4", "kvclone-scratch-7-8", "scratch-5-6"])
  }

  @Test func theDirectoryMayBeMissing() throws {
    #expect(throws: LMDBError.io(errno: ENOENT, operation: "open scratch space")) {
      _ = try SpoolFile(directory: store.root + "/none")
    }
  }

  @Test func someOfTheDiskStaysFree() {
    #expect(SpoolFile.reservedBytes(ofDisk: 1 << 40) == 64 << 20)
    #expect(SpoolFile.reservedBytes(ofDisk: 16 << 20) == 1 << 20)
    #expect(SpoolFile.reservedBytes(ofDisk: 0) == 0)
  }

  @Test(.enabled(if: Peer.canMount, "mounting needs root"))
  func aSmallDiskIsNotFilled() throws {
    try FileSystem.createDirectory(store.root + "/disk")
    let lines = try Peer.script(
      """
      mount -t tmpfs -o size=16m none "$2/disk"
      "$1" lmdb "$2/disk/store" spool=8 spool=14 spool=30
      df --output=used -k "$2/disk" | tail -n 1
      """, root: store.root)
    #expect(lines.prefix(3) == ["ok", "ok", "error diskFull"])
    // Kibibytes, all released.
    #expect(lines.last.flatMap { Int($0.filter { $0 != " " }) } == 0)
  }

  /// RLIMIT_FSIZE.
  @Test func theFileSizeLimitIsADiskFull() throws {
    let peer = try Peer(store.path, ["limit-file=3000000", "spool=2", "spool=4"])
    #expect(peer.finish() == ["ok", "ok", "error diskFull"])
    #expect(try names().isEmpty)
  }
}
