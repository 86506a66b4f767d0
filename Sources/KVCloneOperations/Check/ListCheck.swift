package import KVCloneCore
import KVCloneModel
package import KVCloneRecords

extension StorageTransaction {
  /// Returns all problems of a list, with the entries in which they are.
  ///
  /// - Parameter head: The list's head in its owner's record; nil for lists without one (referrers).
  /// - Throws: Errors of the engine. Corruption is returned, not thrown.
  package borrowing func findProblems(_ list: ListAddress, head: ListHead?, isOrdered: Bool) throws(StoreError)
    -> [ListProblem]
  {
    var check = ListCheck(list: list, isOrdered: isOrdered)
    do throws(StoreError) {
      try walk(&check)
      check.checkHead(head)
      if isOrdered { try checkMembers(&check, head: head) }
    } catch {
      guard error.kind == .corrupted else { throw error }
      check.problems.append(ListProblem(error.message))
    }
    return check.problems
  }

  private borrowing func walk(_ check: inout ListCheck) throws(StoreError) {
    let list = check.list
    let prefix = list.prefix()
    try scan(list.links, within: prefix.bytes) { (key, value) throws(StoreError) in
      let link: LinkKey
      do throws(RecordError) { link = try LinkKey(key) } catch { throw list.corrupted(error.description) }
      guard link.owner == list.owner, link.relationship == list.relationship else { return false }
      do throws(StoreError) {
        switch link.kind {
        case .chunk:
          check.take(chunk: try list.chunk(value, at: link.position, isOrdered: check.isOrdered), at: link.position)
        case .memberIndex: check.indexedCount += 1
        case .positionDirectory: check.directory += try list.page(value, at: link.position).entries
        }
      } catch {
        guard error.kind == .corrupted else { throw error }
        check.problems.append(ListProblem(error.message, .link(link)))
      }
      return true
    }
  }

  /// Checks that each member occurs once, at the place of its index entry. A scan, so that what its body reads is
  /// released early.
  private borrowing func checkMembers(_ check: inout ListCheck, head: ListHead?) throws(StoreError) {
    let list = check.list
    let isIndexed = head?.hasMemberIndex ?? false
    if isIndexed, check.indexedCount != check.count {
      check.report("its member index has \(check.indexedCount) entries for \(check.count) members")
    }
    var seen: Set<ObjectID> = []
    let prefix = list.prefix(.chunk)
    try scan(list.links, within: prefix.bytes) { (key, value) throws(StoreError) in
      guard let label = try list.position(in: key, .chunk) else { return false }
      let ids = try list.chunk(value, at: label, isOrdered: true)
      // With an index, a member in two chunks is found by its single entry; only members of one chunk have to be
      // compared.
      if isIndexed { seen.removeAll(keepingCapacity: true) }
      for index in 0..<ids.count {
        let id = ids[index]
        if !seen.insert(id).inserted { check.report("it contains a member twice") }
        guard isIndexed else { continue }
        if try memberLabel(list, id) != label { check.report("its member index has a wrong entry for a member") }
      }
      return true
    }
  }
}

/// A problem of a list.
package struct ListProblem {
  package let message: String
  /// The key of the unreadable entry, if it is a single one.
  package let key: ShortKey?

  package init(_ message: String, _ key: ShortKey? = nil) {
    self.message = message
    self.key = key
  }
}

/// The state of a check of a list's entries.
private struct ListCheck {
  let list: ListAddress
  let isOrdered: Bool
  var problems: [ListProblem] = []
  var count = 0
  var lastID: ObjectID?
  var chunks: [DirectoryPage.Entry] = []
  var indexedCount = 0
  var directory: [DirectoryPage.Entry] = []

  mutating func report(_ problem: String) {
    problems.append(ListProblem("list \(list.relationship) of object \(list.owner): \(problem)"))
  }

  mutating func take(chunk ids: ObjectIDList, at label: UInt64) {
    count += ids.count
    if isOrdered {
      chunks.append(.init(label: label, memberCount: UInt32(ids.count)))
    } else {
      if let lastID, lastID >= ids[0] { report("ids of two chunks overlap") }
      lastID = ids[ids.count - 1]
    }
  }

  mutating func checkHead(_ head: ListHead?) {
    let hasIndex = head?.hasMemberIndex ?? false
    let hasDirectory = head?.hasDirectory ?? false
    if let head {
      let expected = head.isChunked ? head.count : 0
      if expected != count { report("its head has the count \(expected), and its chunks have \(count) members") }
      if isOrdered, head.isChunked {
        if head.memberIndexIsDue, !hasIndex {
          report("it has \(head.count) members and no member index, which is required")
        }
        if !head.memberIndexIsAllowed, hasIndex {
          report("it has \(head.count) members and a member index, which is for longer lists")
        }
        if head.directoryIsDue, !hasDirectory {
          report("it has \(head.count) members and no directory, which is required")
        }
        if !head.directoryIsAllowed, hasDirectory {
          report("it has \(head.count) members and a directory, which is for longer lists")
        }
      }
    }
    if !hasIndex || !isOrdered, indexedCount > 0 { report("it has entries of a member index, but must not have one") }
    if hasDirectory, isOrdered {
      if directory != chunks { report("its directory does not match its chunks") }
    } else if !directory.isEmpty {
      report("it has a directory, but must not have one")
    }
  }
}
