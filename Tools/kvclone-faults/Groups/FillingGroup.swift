import KVClone
import Synchronization

/// Concurrent writes that fill a disk. Writes that fit are stored completely; the others leave no changes.
struct FillingGroup {
  /// The part of the titles of its photos that identifies the group.
  let name: String
  let version: WorkloadVersion

  private struct Outcome {
    var stored: [String] = []
    var failures: [any Error] = []
  }

  /// Inserts a photo in each write; some writes throw.
  ///
  /// - Throws: the first unexpected error of a write, if none has been stored; ``Finding`` if the stored writes differ
  ///   from those that returned.
  func insert(_ count: Int, into store: ObjectStore, _ random: inout SeededGenerator) throws {
    let outcome = Mutex(Outcome())
    let writes = ConcurrentWrites<String>(store) { _, result in
      outcome.withLock { outcome in
        do {
          outcome.stored.append(try result.get())
        } catch is GroupRun.Failed {
        } catch {
          outcome.failures.append(error)
        }
      }
    }
    let (group, title) = (name, version.photoTitle)
    writes.run(
      (0..<count).map { index in
        let (isFailing, length) = (random.chance(20), 2_000 + random.below(20_000))
        let stream = random.next()
        return { transaction in
          var random = SeededGenerator(seed: stream)
          let name = "group \(group).\(index)"
          let image = Workload.bytes(length, &random)
          try transaction.insert("Photo", [title: .string(name), "image": .binary(image)])
          if isFailing { throw GroupRun.Failed() }
          return name
        }
      })
    let (stored, failures) = outcome.withLock { ($0.stored, $0.failures) }
    let found = try names(in: store)
    if found != stored {
      throw Finding("of a group on a disk that fills, \(found.count) writes are there, but \(stored.count) returned")
    }
    for error in failures where (error as? any KVCloneError)?.kindName != StoreError.Kind.diskFull.rawValue {
      throw error
    }
    if stored.isEmpty, let error = failures.first { throw error }
  }

  /// The titles of the group's photos, in commit order.
  private func names(in store: ObjectStore) throws -> [String] {
    var names: [String] = []
    try store.read { transaction in
      try transaction.forEachObject(of: "Photo") { photo in
        if case .string(let title) = try photo.value(version.photoTitle), title.hasPrefix("group \(name).") {
          names.append(title)
        }
        return true
      }
    }
    return names
  }
}
