import ArgumentParser
import KVClone
import KVCloneExplorer
import KVCloneOperations

struct CheckCommand: WholeStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Checks the store for corruption; exit code 4 if it finds any.",
    examples: ["kvclone -s notes.kvclone check", "kvclone -s notes.kvclone check --read-data --json"])

  @OptionGroup var global: GlobalOptions

  @Flag(name: .customLong("read-data"), help: "Also read and verify every byte of blobs.")
  var readData = false

  func run() throws {
    let address = try global.storeAddress()
    let report = try Self.check(address, CheckOptions(readData: readData))
    try global.show {
      $0.check(report)
    } text: { output in
      for damage in report.issues {
        try output.paragraph(Self.line(damage))
      }
      let count = Text.count(report.issues.count, "integrity issue")
      let verdict = report.isClean ? "ok" : report.isTruncated ? "more than \(count)" : count
      // Only files have pages that a check reads.
      let pages = address.isDirectory ? ", \(Text.count(report.pageCount, "page"))" : ""
      try output.line("\(verdict): \(Text.count(report.objectCount, "object"))\(pages)")
      try output.flush()
      if !report.issues.isEmpty { global.note("kvclone: \(report.advice(hasFile: address.isDirectory))") }
    }
    if !report.issues.isEmpty { throw ExitCode(Failure.Code.corrupted) }
  }

  private static func check(_ address: StoreAddress, _ options: CheckOptions) throws -> CheckReport {
    // By the path, so that a store that cannot be opened can be checked.
    if case .directory(let path) = address { return try ObjectStore.check(at: path, options: options) }
    var opening = StoreOptions()
    opening.isReadOnly = true
    let store = try address.open(opening)
    defer { store.close() }
    return try store.check(options)
  }

  /// Formats an issue as text.
  static func line(_ damage: IntegrityIssue) -> String {
    let place = [damage.object, damage.property, damage.page.map { "page \($0)" }].compactMap { $0 }
    let prefix = place.isEmpty ? "" : place.joined(separator: " ") + ": "
    return "\(damage.kind.rawValue): \(prefix)\(damage.message)"
  }
}
