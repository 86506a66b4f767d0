/// XXH64 of content that arrives in parts: the digest of a blob while it is written or read.
///
/// The result equals `XXH64.hash` of the joined parts, however they were split.
package struct XXH64Stream: Sendable {
  private let seed: UInt64
  private var lanes: (UInt64, UInt64, UInt64, UInt64)
  private var pending = InlineArray<32, UInt8>(repeating: 0)
  private var pendingCount = 0
  private var total: UInt64 = 0

  package init(seed: UInt64) {
    self.seed = seed
    lanes = (seed &+ XXH64.prime1 &+ XXH64.prime2, seed &+ XXH64.prime2, seed, seed &- XXH64.prime1)
  }

  /// Adds the next part.
  package mutating func update(_ bytes: RawSpan) {
    bytes.withUnsafeBytes { update($0) }
  }

  /// Adds the next part.
  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    total &+= UInt64(bytes.count)
    var rest = bytes[...]
    if pendingCount > 0 {
      while pendingCount < 32, let byte = rest.popFirst() {
        pending[pendingCount] = byte
        pendingCount += 1
      }
      guard pendingCount == 32 else { return }
      let full = pending
      full.span.bytes.withUnsafeBytes { stripes($0) }
      pendingCount = 0
    }
    let whole = rest.count & ~31
    stripes(UnsafeRawBufferPointer(rebasing: rest.prefix(whole)))
    for byte in rest.dropFirst(whole) {
      pending[pendingCount] = byte
      pendingCount += 1
    }
  }

  /// The hash of everything added so far.
  package func finalize() -> UInt64 {
    let start =
      total >= 32 ? XXH64.converge(lanes.0, lanes.1, lanes.2, lanes.3) : seed &+ XXH64.prime5
    let last = pending
    return last.span.bytes.withUnsafeBytes { buffer in
      guard let base = buffer.baseAddress else { return 0 }
      return XXH64.finish(start &+ total, base, base + pendingCount)
    }
  }

  private mutating func stripes(_ bytes: UnsafeRawBufferPointer) {
    guard var next = bytes.baseAddress else { return }
    var (lane1, lane2, lane3, lane4) = lanes
    for _ in 0..<bytes.count / 32 {
      lane1 = XXH64.round(lane1, XXH64.load64(next))
      lane2 = XXH64.round(lane2, XXH64.load64(next + 8))
      lane3 = XXH64.round(lane3, XXH64.load64(next + 16))
      lane4 = XXH64.round(lane4, XXH64.load64(next + 24))
      next += 32
    }
    lanes = (lane1, lane2, lane3, lane4)
  }
}
