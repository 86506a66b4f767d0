import KVCloneRecords

/// A planted bug: checksums are not verified. A flipped bit with a recomputed checksum is equivalent to a flipped bit
/// for a reader that skips checksums, so trials of ``FlippedBitFaults`` must fail here.
enum SkippedChecksums {
  static func group(_ subject: DamageSubject, _ count: Int) -> TrialGroup {
    let entries = subject.map.entries.filter { FlippedBitFaults.isRead($0, subject.map) && code(of: $0.table) != nil }
    let trials = (0..<(entries.isEmpty ? 0 : count)).map { index in
      Trial(id: "checksum:\(index)") { lane in
        var random = SeededGenerator(seed: subject.context.workload.seed, stream: 14_000_000 + UInt64(index))
        guard let entry = random.element(entries), let code = code(of: entry.table) else { return nil }
        let payload = entry.value.dropFirst(checksumLength)
        var bytes = subject.map.bytes
        bytes[payload.lowerBound + random.below(payload.count)] ^= 1 << UInt8(random.below(8))
        let seed = ValueEnvelope.seed(tableCode: code, key: Array(bytes[entry.key]))
        bytes.withUnsafeMutableBytes {
          ValueEnvelope.seal(UnsafeMutableRawBufferPointer(rebasing: $0[entry.value]), seed: seed)
        }
        return try FlippedBitFaults.complaint(ofFlipped: entry, bytes, subject, lane)
      }
    }
    return TrialGroup(title: "planted: checksums not verified", trials: trials) { failures, trials in
      failures > 0 ? nil : "none of \(trials) trials detected the planted bug"
    }
  }

  private static let checksumLength = 8

  private static func code(of table: String) -> TableCode? {
    if table.hasPrefix("objects-") { return UInt16(table.dropFirst(8), radix: 16).map { .objects(rootCode: $0) } }
    // Index entries have no payload that a checksum protects.
    return [.links, .blobs, .blobInfo].first { $0.name == table }
  }
}
