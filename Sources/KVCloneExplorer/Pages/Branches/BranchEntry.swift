import Foundation
import KVClone
import KVCloneCore

/// A branch as pages list it.
struct BranchEntry: Sendable {
  let info: BranchInfo
  /// The size of what only the base retains, in bytes; nil if counting it was left for a request of its own.
  let retainedBytes: UInt64?

  /// - Parameter hasTime: whether time is left for counting retained bytes.
  init(_ info: BranchInfo, _ branches: StoreBranches, hasTime: () -> Bool) throws {
    self.info = info
    guard hasTime() else {
      retainedBytes = nil
      return
    }
    do throws(StoreError) {
      retainedBytes = try branches.retainedBytes(of: info.name, isCancelled: { !hasTime() })
    } catch {
      // It may have been deleted since the list was read.
      guard [.branchNotFound, .cancelled].contains(error.kind) else { throw error }
      retainedBytes = nil
    }
  }

  /// The branch of the path.
  ///
  /// - Throws: `branchNotFound`.
  static func read(_ context: PageContext) throws -> BranchEntry {
    let name = try context.parameter("branch")
    let branches = context.root.branches
    guard let info = try branches.list().first(where: { $0.name == name }) else {
      throw StoreError(.branchNotFound, "the branch \(name) does not exist; choose one in the list of branches")
    }
    let end = context.deadline.end - context.options.requestTimeLimit / 2
    return try BranchEntry(info, branches) { ContinuousClock.now < end && !Task.isCancelled }
  }

  var base: HTML {
    info.baseSnapshot.map { "snapshot \(Components.code($0))" } ?? Components.muted("state of its creation or merge")
  }

  var expiry: HTML {
    guard let expires = info.expiresAt else { return Components.muted("never") }
    let badge: HTML? = info.isExpired() ? " \(Components.badge("expired", "warning"))" : nil
    return "\(Components.time(expires.timeText))\(badge)"
  }

  func write(to json: inout JSONWriter) {
    json.member("name", info.name)
    json.nullable("base", info.baseSnapshot)
    json.member("created", info.createdAt.timeText)
    json.nullable("expires", info.expiresAt?.timeText)
    json.member("commit", info.lastCommit)
    json.member("changedObjects", info.changedObjectCount)
    json.member("bytes", info.byteCount)
    json.nullable("retainedBytes", retainedBytes)
  }

  static let columns = ["name", "base", "created", "expires", "commit", "changedObjects", "bytes", "retainedBytes"]

  var row: [String?] {
    [
      info.name, info.baseSnapshot, info.createdAt.timeText, info.expiresAt?.timeText, "\(info.lastCommit)",
      "\(info.changedObjectCount)", "\(info.byteCount)", retainedBytes.map { "\($0)" },
    ]
  }
}

extension PageContext {
  /// Returns the URL of a page about a branch. It keeps no state: the page is about the whole store.
  func link(
    branch name: String, _ last: [String] = [], _ items: [(name: String, value: String?)] = []
  ) -> String {
    link(["branches", name] + last, items + [("at", nil), ("branch", nil)])
  }

  /// Returns the URL of a page that shows a branch.
  func link(on branch: String, _ segments: [String], _ items: [(name: String, value: String?)] = []) -> String {
    link(segments, items + [("branch", branch), ("at", nil)])
  }

  /// Returns the URL of the differences of a branch from its base, or from the store.
  func link(changesOf branch: String, from state: String) -> String {
    link(on: branch, ["compare"], [("from", state), ("to", "")])
  }
}
