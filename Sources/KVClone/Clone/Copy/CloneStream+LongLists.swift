import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Lists in chunks, cloned chunk by chunk: whatever a list's length, one chunk is in memory.
extension CloneStream {
  /// Writes the list of a clone; returns its head.
  mutating func cloneLongList(
    _ step: UnsafePointer<CloneStep>, _ id: ObjectID, _ clone: ObjectID, _ head: ListHead, _ map: CloneIDMap
  ) throws(StoreError) -> ListHead {
    if step.pointee.mode == .drop { return ListHead(count: 0) }
    let origin = session.address(id, step.pointee.code)
    let list = session.address(clone, step.pointee.code)
    var position: UInt64 = 0
    var done = 0
    while done < head.count {
      let found = try session.storage.copyChunk(origin, .atOrAfter, position, isOrdered: step.pointee.isOrdered, chunk)
      guard let (label, count) = found else { break }
      // Within one chunk, clones are sorted behind the members that are shared. Over several, each chunk would be
      // sorted, but not the list.
      if done == 0, count < head.count, !step.pointee.isOrdered, try isMixed(origin, map) {
        return try cloneMixedList(origin, list, step, head)
      }
      done += count
      let ids = UnsafeMutableBufferPointer(rebasing: chunk.ids[..<count])
      try mapChunk(ids, step, clone, map)
      try session.storage.write(
        list, at: step.pointee.isOrdered ? label : ids[0].rawValue, chunk, count: count)
      if head.hasMemberIndex { try writeMemberIndex(list, ids, label) }
      if outside.isFull { try publishOutside() }
      if label == .max { break }
      position = label + 1
    }
    guard done == head.count else {
      throw origin.wrongCount(done, head: head.count)
    }
    if head.hasDirectory { try copyDirectory(origin, list) }
    tally.bytesWritten += CloneTally.listBytes(head.count)
    return head
  }

  /// Whether some members are cloned and others are not.
  private func isMixed(_ list: ListAddress, _ clones: CloneIDMap) throws(StoreError) -> Bool {
    var cloned = 0
    var others = 0
    try session.storage.forEachChunk(list) { (ids) throws(StoreError) in
      for index in 0..<ids.count {
        if clones.clone(of: ids[index]) == nil { others += 1 } else { cloned += 1 }
      }
      return cloned == 0 || others == 0
    }
    return cloned > 0 && others > 0
  }

  private mutating func mapChunk(
    _ members: UnsafeMutableBufferPointer<ObjectID>, _ step: UnsafePointer<CloneStep>, _ clone: ObjectID,
    _ ids: CloneIDMap
  ) throws(StoreError) {
    var originals = 0
    for index in 0..<members.count {
      let target = members[index]
      if let mapped = ids.clone(of: target) {
        members[index] = mapped
      } else {
        guard step.pointee.mode == .stop else { throw context.schema.notFound(target) }
        noteOutside(step, target, clone, outside.sink)
        originals += 1
      }
    }
    if originals > 0, originals < members.count, !step.pointee.isOrdered {
      var members = members
      members.sort()
    }
  }

  private func writeMemberIndex(
    _ list: ListAddress, _ ids: UnsafeMutableBufferPointer<ObjectID>, _ label: UInt64
  ) throws(StoreError) {
    for id in ids {
      let key = list.key(.memberIndex, id.rawValue)
      let value = MemberIndexValue(label: label).encoded(seed: list.seed(key))
      try session.storage.put(list.links, key.bytes, value.span.bytes)
    }
  }

  /// Copies the directory of a list with the same chunk labels as the source.
  private func copyDirectory(_ source: ListAddress, _ list: ListAddress) throws(StoreError) {
    var position: UInt64? = 0
    while let from = position {
      let start = source.key(.positionDirectory, from)
      let page: [UInt8]
      let found: UInt64
      do {
        guard let entry = try session.storage.seek(source.links, start.bytes, .atOrAfter),
          let position = try source.position(in: entry.key, .positionDirectory)
        else { return }
        found = position
        let seed = source.seed(source.key(.positionDirectory, position))
        guard ValueEnvelope.isIntact(entry.value, seed: seed) else {
          throw source.corrupted("A page of its directory has a wrong checksum.")
        }
        page = entry.value.extracting(8..<entry.value.byteCount).withUnsafeBytes { Array($0) }
      }
      let key = list.key(.positionDirectory, found)
      let value = ValueEnvelope.encode(page, seed: list.seed(key))
      try session.storage.put(list.links, key.bytes, value.span.bytes)
      position = found == .max ? nil : found + 1
    }
  }

  /// Writes an unordered list with cloned and shared members: the shared ones come first, because all clones' ids are
  /// greater.
  private mutating func cloneMixedList(
    _ source: ListAddress, _ list: ListAddress, _ step: UnsafePointer<CloneStep>, _ head: ListHead
  ) throws(StoreError) -> ListHead {
    guard step.pointee.mode == .stop else { throw source.corrupted("It has members that do not exist.") }
    let members = try session.storage.members(source, count: head.count)
    var originals: [ObjectID] = []
    var clones: [ObjectID] = []
    for member in members {
      if let mapped = context.ids.clone(of: member) {
        clones.append(mapped)
      } else {
        originals.append(member)
        noteOutside(step, member, list.owner, outside.sink)
      }
    }
    try session.storage.writeUnordered(list, originals + clones)
    tally.bytesWritten += CloneTally.listBytes(head.count)
    return head
  }
}
