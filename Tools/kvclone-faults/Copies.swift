import Foundation
import KVClone
import KVCloneOperations

/// The copies of a store that a workload makes; each is a directory next to the store.
struct Copies: Sendable {
  enum Copy: String, CaseIterable, Sendable {
    case backup, increment, restored, chained, file, compacted

    /// The commit after which the copy is made.
    var commit: Int {
      switch self {
      case .backup: 4
      case .increment, .restored, .chained, .file: 9
      case .compacted: 12
      }
    }
    /// The commit that the copy contains.
    var content: Int { self == .restored ? Copy.backup.commit : commit }
  }

  /// The snapshot that the incremental backup starts from; the full backup contains it.
  private static let base = Workload.snapshotName(2)
  let root: String

  func path(_ copy: Copy) -> String { "\(root)/\(copy.rawValue)" }

  func exists(_ copy: Copy) -> Bool { FileManager.default.fileExists(atPath: path(copy)) }

  /// Whether a file name is that of a copy, or of one being created.
  static func isOwn(_ name: String) -> Bool {
    Copy.allCases.contains { name == $0.rawValue || name.hasPrefix(".\($0).creating-") }
  }

  /// Makes a copy. The copies that it depends on exist already.
  func make(_ copy: Copy, of store: ObjectStore) throws {
    switch copy {
    case .backup: try store.backup(to: path(copy))
    case .increment: try store.backup(to: path(copy), options: BackupOptions(since: Self.base))
    case .restored: try ObjectStore.restore(from: path(.backup), to: path(copy))
    case .chained: try ObjectStore.restore(from: [path(.backup), path(.increment)], to: path(copy))
    case .file: try store.reflinkCopy(to: path(copy))
    case .compacted:
      let result = try store.backup(to: path(copy), options: BackupOptions(finishesMigration: true))
      guard result.renewedCount > 0 || store.model.versionIdentifier == WorkloadModel.versions[0].versionIdentifier
      else {
        throw Finding("the test store gives compact too little to do: \(result)")
      }
    }
  }
}

/// Verifies the copies after a fault.
struct CopyVerifier {
  let copies: Copies
  let states: [String]
  let workload: Workload

  /// - Parameters:
  ///   - acknowledged: the acknowledged copies.
  ///   - store: the store, at `commit`.
  func verify(acknowledged: Set<String>, _ store: ObjectStore, at commit: Int) throws {
    for copy in Copies.Copy.allCases {
      guard copies.exists(copy) else {
        if acknowledged.contains(copy.rawValue) { throw Finding("the \(copy) was acknowledged, but does not exist") }
        continue
      }
      try verify(copy, shows: copy.content)
    }
    // Missing copies can be created at the same paths, despite the remains of an interrupted attempt.
    var contents: [Copies.Copy: Int] = [:]
    for copy in Copies.Copy.allCases {
      contents[copy] = copy.content
      if copies.exists(copy) { continue }
      guard let wanted = content(of: copy, contents, commit) else { return }
      contents[copy] = wanted
      try copies.make(copy, of: store)
      try verify(copy, shows: wanted)
      try verifyTidiness(copy)
    }
  }

  /// The commit that a copy made now contains; nil if it cannot be made yet.
  private func content(of copy: Copies.Copy, _ contents: [Copies.Copy: Int], _ commit: Int) -> Int? {
    switch copy {
    case .backup, .increment, .file, .compacted: commit < 2 ? nil : commit
    case .restored: contents[.backup]
    case .chained: contents[.increment]
    }
  }

  private func verify(_ copy: Copies.Copy, shows commit: Int) throws {
    if copy == .increment {
      // An incremental backup is not a store; `chained` verifies its contents.
      do {
        try ObjectStore.open(at: copies.path(copy), options: workload.options()).close()
      } catch {
        if error.kind == .incrementalBackup { return }
        throw error
      }
      throw Finding("an incremental backup was opened as a store")
    }
    let report = try ObjectStore.check(at: copies.path(copy), options: CheckOptions(readData: true))
    if let damage = report.issues.first {
      throw Finding("check of the \(copy) reports \(damage.kind.rawValue): \(damage.message)")
    }
    let store = try ObjectStore.open(
      at: copies.path(copy), model: workload.version(after: commit).model, options: workload.options())
    defer { store.close() }
    if try StoreDigest.content(of: store).digest != states[commit] {
      throw Finding("the \(copy) does not show commit \(commit)")
    }
  }

  /// Verifies that nothing remains of an earlier attempt. Remains beside a complete copy stay, because no later attempt
  /// at that copy removes them.
  private func verifyTidiness(_ copy: Copies.Copy) throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: copies.root)
    for name in names where name.hasPrefix(".\(copy).") {
      throw Finding("leftovers of an earlier copy were not removed: \(name)")
    }
  }
}
