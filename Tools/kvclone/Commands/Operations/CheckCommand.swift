import ArgumentParser
import KVClone
import KVCloneExplorer
import KVCloneOperations

struct CheckCommand: ToolCommand {
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
      write(report, &$0)
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
      if !report.issues.isEmpty { global.note("kvclone: \(Self.advice(report, address))") }
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

  private static func advice(_ report: CheckReport, _ address: StoreAddress) -> String {
    if report.issues.allSatisfy(\.isDerived) {
      return "the objects are intact; rebuild the rest with `kvclone repair --yes`"
    }
    if report.issues.allSatisfy({ $0.kind == .pageLeak }) {
      return "no data is lost; create a copy without leaked pages with `kvclone compact -o DEST`"
    }
    return address.isDirectory
      ? "restore a backup, or copy what is readable with `kvclone salvage -o NEW`"
      : "check the database with pg_amcheck, and restore the store from a copy or a backup of the cluster"
  }

  private func write(_ report: CheckReport, _ json: inout JSONWriter) {
    json.member("ok", report.issues.isEmpty)
    json.member("objects", report.objectCount)
    json.member("pages", report.pageCount)
    json.damages(report.issues)
    json.member("truncated", report.isTruncated)
  }

  /// Formats an issue as text.
  static func line(_ damage: IntegrityIssue) -> String {
    let place = [damage.object, damage.property, damage.page.map { "page \($0)" }].compactMap { $0 }
    let prefix = place.isEmpty ? "" : place.joined(separator: " ") + ": "
    return "\(damage.kind.rawValue): \(prefix)\(damage.message)"
  }
}

extension JSONWriter {
  /// Writes issues as the member "damages".
  mutating func damages(_ damages: [IntegrityIssue]) {
    list("damages", damages) { json, damage in
      json.finding(
        damage.kind.rawValue, object: damage.object, property: damage.property, page: damage.page,
        message: damage.message)
      json.member("derived", damage.isDerived)
    }
  }
}
