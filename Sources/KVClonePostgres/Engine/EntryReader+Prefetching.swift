#if Postgres
  import KVCloneCore
  import KVCloneLMDB
  import KVCloneRecords

  extension EntryReader {
    /// Fetches keys that are read next, in one round trip. An error shows up at the read itself.
    ///
    /// - Parameter keys: one after the other, each of `stride` bytes.
    func prefetch(_ table: UInt32, _ keys: UnsafeRawBufferPointer, stride: Int, _ mode: StorageSeek?) {
      if mode == .atOrBefore { return prefetchPrevious(table, keys, stride: stride) }
      if mode != nil { return }
      var missing: [UnsafeRawBufferPointer] = []
      for place in Swift.stride(from: 0, to: keys.count, by: stride) {
        let key = UnsafeRawBufferPointer(rebasing: keys[place..<place + stride])
        if cache.range(table, at: key) == nil { missing.append(key) }
      }
      if missing.count < 2 { return }
      missing.sort { keyOrder($0, $1) < 0 }
      if stride == 8, let first = missing.first, let last = missing.last {
        let (low, high) = (
          first.loadUnaligned(as: UInt64.self).bigEndian, last.loadUnaligned(as: UInt64.self).bigEndian
        )
        // Neighbours in one range: their index entries are read in order.
        if high - low < UInt64(missing.count) * 4 { return prefetchRange(table, from: first, through: last) }
      }
      let unique = missing.enumerated().filter { $0.offset == 0 || keyOrder(missing[$0.offset - 1], $0.element) != 0 }
      var list = PostgresArray.ofBytea
      for (_, key) in unique { list.append(key) }
      guard let rows = try? run(Self.listed, [.int8(store), .int4(Int32(table)), list.value]) else { return }
      let found = entries(rows).sorted { keyOrder($0.key, $1.key) < 0 }
      var ranges: [EntryCache.Range] = []
      var next = 0
      for (_, key) in unique {
        let isPresent = next < found.count && keyOrder(found[next].key, key) == 0
        ranges.append(
          EntryCache.Range(low: Array(key), high: successor(of: key), rows: isPresent ? [found[next]] : []))
        if isPresent { next += 1 }
      }
      // Their rows are copied: one of them would keep the whole answer.
      cache.makeRoom(for: rows.byteCount, limit: cacheLimit)
      cache.insert(contentsOf: ranges, table)
    }

    private func prefetchRange(
      _ table: UInt32, from low: UnsafeRawBufferPointer, through last: UnsafeRawBufferPointer
    ) {
      let end = successor(of: last)
      let values = [PostgresValue.int8(store), .int4(Int32(table)), .bytea(low), .int8(.max), .bytea(end)]
      guard let rows = try? run(Self.forwardsToEnd, values) else { return }
      keep(EntryCache.Range(low: Array(low), high: end, rows: entries(rows)), table)
    }

    static let listedPrevious = """
      SELECT e.k, e.v, l.n FROM unnest($3::bytea[]) WITH ORDINALITY AS l (k, n), LATERAL (\
      SELECT k, v FROM kvclone.entry WHERE store = $1 AND tbl = $2 AND k < l.k ORDER BY k DESC LIMIT 1) e
      """

    /// Fetches the last entries at or before keys.
    private func prefetchPrevious(_ table: UInt32, _ keys: UnsafeRawBufferPointer, stride: Int) {
      var list = PostgresArray.ofBytea
      var ends: [[UInt8]] = []
      for place in Swift.stride(from: 0, to: keys.count, by: stride) {
        let end = successor(of: UnsafeRawBufferPointer(rebasing: keys[place..<place + stride]))
        let isKnown = end.withUnsafeBytes { cache.range(table, endingAt: $0) != nil }
        if isKnown { continue }
        end.withUnsafeBytes { list.append($0) }
        ends.append(end)
      }
      if ends.count < 2 { return }
      guard let rows = try? run(Self.listedPrevious, [.int8(store), .int4(Int32(table)), list.value]) else { return }
      cache.makeRoom(for: rows.byteCount, limit: cacheLimit)
      for (row, found) in entries(rows).enumerated() {
        guard let number = rows.integer(row, 2), ends.indices.contains(Int(number) - 1) else { continue }
        let end = ends[Int(number) - 1]
        guard let known = cache.range(table, at: found.key) else {
          cache.insert(EntryCache.Range(low: Array(found.key), high: end, rows: [found]), table)
          continue
        }
        // An overlapping range would replace the known one, which others need. Behind it, up to the end, nothing exists.
        if let high = known.high, high.lexicographicallyPrecedes(end) {
          cache.insert(EntryCache.Range(low: high, high: end, rows: []), table)
        }
      }
    }
  }
#endif
