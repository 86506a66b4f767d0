import Foundation
import KVCloneTestSupport

extension SecondStore {
  /// Returns a blob's bytes, verified against its description.
  func blob(_ serial: UInt64) throws -> [UInt8] {
    var bytes: [UInt8] = []
    var chunks = 0
    for entry in try file.entries("blobs") where entry.key.starts(with: secondKey(serial)) {
      guard entry.key.count == 12, secondNumber(entry.key[8...]) == chunks else {
        throw SecondError("a blob's chunks are not numbered from 0")
      }
      guard bytes.count == chunks * SecondBlob.chunk, 1...SecondBlob.chunk ~= entry.payload.count else {
        throw SecondError("a blob's chunk has a wrong length")
      }
      chunks += 1
      bytes += entry.payload
    }
    guard let entry = try file.entries("blobinfo").first(where: { $0.key == secondKey(serial) }) else {
      throw SecondError("a blob has no description")
    }
    let info = try SecondBlob(entry.payload)
    guard info.state == 0, info.chunks == chunks, info.bytes == UInt64(bytes.count),
      info.digest == secondXXH64(bytes, seed: 0)
    else { throw SecondError("a blob is not what its description says") }
    return bytes
  }
}

/// A value of `blobinfo`.
struct SecondBlob {
  /// The bytes of every chunk but the last.
  static let chunk = 256 * 4096 - 16 - 8

  let state: UInt8
  let stager: UInt16
  let chunks: UInt32
  let count: UInt64
  let bytes: UInt64
  let digest: UInt64

  init(_ payload: ArraySlice<UInt8>) throws {
    var value = SecondBytes(payload)
    state = try value.u8()
    try value.zero(1)
    stager = try value.u16()
    chunks = try value.u32()
    count = try value.u64()
    bytes = try value.u64()
    digest = try value.u64()
    try value.end()
    guard state <= 1 else { throw SecondError("a blob is in no known state") }
  }
}
