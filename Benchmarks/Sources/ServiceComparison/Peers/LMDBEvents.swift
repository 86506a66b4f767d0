import BenchmarkSupport
import CLMDBPeer
import Foundation

/// Records and index entries of the same size, written in C on LMDB.
struct LMDBEvents: CrowdedPeer {
  let title = "C on LMDB"
  let filledCount: Int
  private let service: Service

  init(in folder: String, filledWith count: Int) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    var opened: OpaquePointer?
    try Self.check(lmdb_service_open(folder, &opened))
    guard let opened else { throw PeerFailure("C on LMDB opened nothing") }
    service = Service(pointer: opened)
    filledCount = count
    try Self.check(lmdb_service_insert(service.pointer, 1, UInt64(count)))
  }

  func insertBlocking(_ number: Int) throws {
    try Self.check(lmdb_service_insert(service.pointer, UInt64(number), UInt64(number)))
  }

  func makeReader() throws -> (Int) throws -> Void {
    let reader = try Reader(service)
    return { number in try Self.check(lmdb_service_read(reader.pointer, UInt64(number))) }
  }

  func verify(count: Int) throws { try Self.check(lmdb_service_verify(service.pointer, UInt64(count))) }

  func close() { lmdb_service_close(service.pointer) }

  private static func check(_ code: Int32) throws {
    guard code == 0 else { throw PeerFailure("C on LMDB: \(String(cString: lmdb_peer_message()))") }
  }

  /// The environment, shared by all threads.
  private struct Service: @unchecked Sendable {
    let pointer: OpaquePointer
  }

  /// The reader of one thread.
  private final class Reader {
    let pointer: OpaquePointer

    init(_ service: Service) throws {
      var opened: OpaquePointer?
      try LMDBEvents.check(lmdb_service_reader_open(service.pointer, &opened))
      guard let opened else { throw PeerFailure("C on LMDB opened no reader") }
      pointer = opened
    }

    deinit { lmdb_service_reader_close(pointer) }
  }
}
