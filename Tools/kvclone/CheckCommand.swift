import ArgumentParser
import KVClone

struct CheckCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Looks for damage; exit code 4 if there is any.")

  @OptionGroup var global: GlobalOptions

  @Flag(name: .customLong("read-data"), help: "Also read and verify every byte of large values.")
  var readData = false

  func run() throws {
    // By the path: a store that cannot be opened is what one wants to check most.
    let report = try ObjectStore.check(at: try global.storePath(), options: CheckOptions(readData: readData))
    let output = Output()
    if global.json {
      try output.json { write(report, &$0) }
    } else {
      for damage in report.damages {
        let place = [damage.object, damage.property, damage.page.map { "page \($0)" }].compactMap { $0 }
        let prefix = place.isEmpty ? "" : place.joined(separator: " ") + ": "
        try output.line("\(damage.kind.rawValue): \(prefix)\(damage.message)")
      }
      let count = Text.count(report.damages.count, "damage")
      let verdict = report.isClean ? "ok" : report.isTruncated ? "more than \(count)" : count
      try output.line(
        "\(verdict): \(Text.count(report.objectCount, "object")), \(Text.count(report.pageCount, "page"))")
      try output.flush()
    }
    if !report.damages.isEmpty { throw ExitCode(Failure.Code.damaged) }
  }

  private func write(_ report: CheckReport, _ json: inout JSONWriter) {
    json.beginObject()
    json.member("ok", report.damages.isEmpty)
    json.member("objects", report.objectCount)
    json.member("pages", report.pageCount)
    json.key("damages")
    json.beginArray()
    for damage in report.damages {
      json.beginObject()
      json.member("kind", damage.kind.rawValue)
      json.nullable("object", damage.object)
      json.nullable("property", damage.property)
      json.key("page")
      if let page = damage.page { json.integer(page) } else { json.null() }
      json.member("message", damage.message)
      json.endObject()
    }
    json.endArray()
    json.member("truncated", report.isTruncated)
    json.endObject()
  }
}

extension JSONWriter {
  /// A member that is there always, null where there is no text.
  mutating func nullable(_ name: String, _ value: String?) {
    key(name)
    if let value { string(value) } else { null() }
  }
}
