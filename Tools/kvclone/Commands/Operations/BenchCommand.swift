import ArgumentParser
import Foundation
import KVClone
import KVCloneBench
import KVCloneExplorer

struct BenchCommand: WholeStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "bench", abstract: "Benchmarks this machine with a temporary store.",
    discussion: """
      Each round creates a store, measures each step once, and removes the store. The results depend on this machine's \
      disk, memory and processor, with all pages in the page cache; choose other sizes with --objects and --images. \
      The table shows minimum, median and maximum of the rounds, and the rate of the median.
      """,
    examples: [
      "kvclone bench", "kvclone bench --objects 1000000 --images 0 --rounds 3", "kvclone bench --at /mnt/data --json",
    ])

  @OptionGroup var global: GlobalOptions

  @Option(
    help: ArgumentHelp(
      "Create the temporary store in this directory, and measure its disk (default: the current one).",
      valueName: "dir"), completion: .directory)
  var at = "."

  @Option(help: ArgumentHelp("Number of objects.", valueName: "n"))
  var objects = 20_000

  @Option(help: ArgumentHelp("Number of objects with an image.", valueName: "n"))
  var images = 200

  @Option(name: .customLong("image-bytes"), help: ArgumentHelp("Size of an image in bytes.", valueName: "n"))
  var imageBytes = 100_000

  @Option(help: ArgumentHelp("Seed for the values and the order of reads.", valueName: "n"))
  var seed: UInt64 = 1

  @Option(help: ArgumentHelp("Number of rounds; each measures every step once.", valueName: "n"))
  var rounds = 5

  func validate() throws {
    if at.isEmpty { throw ValidationError("--at is an empty string; give a path") }
    if global.store != nil {
      throw ValidationError("bench creates its own store; remove --store, and choose its directory with --at")
    }
    if !(100...100_000_000).contains(objects) {
      throw ValidationError("--objects needs a number from 100 to 100000000")
    }
    if !(0...BenchModel.counts(of: objects).photos).contains(images) {
      throw ValidationError(
        "--images needs a number from 0 to \(BenchModel.counts(of: objects).photos), the number of photos")
    }
    if !(1...1 << 30).contains(imageBytes) {
      throw ValidationError("--image-bytes needs a number from 1 to 1073741824")
    }
    if !(1...1000).contains(rounds) { throw ValidationError("--rounds needs a number from 1 to 1000") }
  }

  func run() throws {
    let settings = BenchSettings(
      objects: objects, images: images, imageBytes: imageBytes, seed: seed, rounds: rounds)
    try StoreAddress.requireDirectory(at, for: "a benchmark")
    try checkPlace(settings)
    let cancellation = Cancellation()
    let results = try Interruption.cancelling(cancellation.cancel) {
      let directory = try makeDirectory()
      defer { try? FileManager.default.removeItem(atPath: directory) }
      return try measure(settings, in: directory, cancellation)
    }
    let output = Output()
    let rows = BenchStep.allCases.compactMap { BenchRow($0, results) }
    let fileBytes = results.map(\.fileBytes).max() ?? 0
    if global.json { return try output.json { write(rows, settings, fileBytes, &$0) } }
    try output.write(BenchRow.table(rows, Style(global)))
    if !global.quiet {
      try output.line(
        "\(Text.count(rounds, "round")) with \(objects) objects and \(Text.count(images, "image")) of "
          + "\(Text.bytes(UInt64(imageBytes))), seed \(seed); data file: \(Text.bytes(fileBytes))")
    }
    try output.flush()
  }

  /// Checks that the directory exists, does not belong to a store, and has space.
  private func checkPlace(_ settings: BenchSettings) throws {
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: at, isDirectory: &isDirectory), isDirectory.boolValue else {
      throw Failure("io", "\(at) is not a directory; create it, or give another one with --at")
    }
    if FileManager.default.fileExists(atPath: at + "/data.mdb") {
      throw Failure(
        "storeExists", "\(at) is a store, and bench does not write into stores; give its parent directory with --at")
    }
    let facts = try? FileManager.default.attributesOfFileSystem(forPath: at)
    guard let free = (facts?[.systemFreeSize] as? NSNumber)?.uint64Value else { return }
    let needed = settings.neededBytes
    if needed > Double(free) {
      throw Failure(
        "diskFull",
        "bench needs about \(Text.bytes(UInt64(needed))), but \(at) has only \(Text.bytes(free)) free; nothing was "
          + "written: reduce --objects or --images, or give another directory with --at")
    }
  }

  /// Creates a directory under an unused name.
  private func makeDirectory() throws -> String {
    let path = "\(at)/kvclone-bench-\(UUID().uuidString.prefix(8))"
    do {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    } catch {
      throw Failure("io", "\(at) cannot be written to; check its permissions, or give another directory with --at")
    }
    return path
  }

  private func measure(
    _ settings: BenchSettings, in directory: String, _ cancellation: Cancellation
  ) throws -> [BenchRound.Result] {
    let steps = UInt64(BenchStep.allCases.count)
    let bar = ProgressBar("bench", unit: "steps", total: steps * UInt64(settings.rounds), global)
    defer { bar.finish() }
    var results: [BenchRound.Result] = []
    for number in 0..<settings.rounds {
      var done = UInt64(number) * steps
      let path = directory + "/store"
      var round = BenchRound(settings, cancellation)
      do {
        results.append(
          try round.run(at: path) { _ in
            bar.update(done)
            done += 1
          })
      } catch is CancellationError {
        throw Failure("interrupted", "interrupted", code: Failure.Code.interrupted)
      } catch let error as BenchError {
        throw Failure(
          "wrongAnswer",
          "\(error.step) returned something other than what was written; check this machine's memory and disk")
      }
      try FileManager.default.removeItem(atPath: path)
    }
    return results
  }

  private func write(_ rows: [BenchRow], _ settings: BenchSettings, _ fileBytes: UInt64, _ json: inout JSONWriter) {
    json.member("objects", settings.objects)
    json.member("images", settings.images)
    json.member("imageBytes", settings.imageBytes)
    json.member("seed", settings.seed)
    json.member("rounds", settings.rounds)
    json.member("fileBytes", fileBytes)
    json.list("steps", rows) { json, row in row.write(to: &json) }
  }
}

/// The measurements of a step.
struct BenchRow {
  let step: BenchStep
  let count: Int
  let minimum: Double
  let median: Double
  let maximum: Double

  /// Nil if the step was not requested.
  init?(_ step: BenchStep, _ results: [BenchRound.Result]) {
    let seconds = results.compactMap { $0.seconds[step] }.sorted()
    guard let first = seconds.first, let last = seconds.last, let count = results.first?.counts[step] else {
      return nil
    }
    let middle = seconds.count / 2
    self.step = step
    self.count = count
    minimum = first
    median = seconds.count.isMultiple(of: 2) ? (seconds[middle - 1] + seconds[middle]) / 2 : seconds[middle]
    maximum = last
  }

  /// The step's units per second, in the median round.
  var rate: Double { median > 0 ? Double(count) / median : 0 }

  static func table(_ rows: [BenchRow], _ style: Style) -> String {
    var table = TextTable("STEP", ["COUNT", "MIN", "MEDIAN", "MAX", "RATE"])
    for row in rows {
      let isBytes = row.step.unit == "bytes"
      let rate = isBytes ? "\(Text.bytes(UInt64(row.rate)))/s" : "\(Int(row.rate))/s"
      table.add(
        row.step.title,
        [
          isBytes ? Text.bytes(UInt64(row.count)) : "\(row.count)", Text.seconds(row.minimum),
          Text.seconds(row.median), Text.seconds(row.maximum), rate,
        ])
    }
    return table.text(style)
  }

  func write(to json: inout JSONWriter) {
    json.member("name", step.rawValue)
    json.member("unit", step.unit)
    json.member("count", count)
    json.member("minSeconds", minimum)
    json.member("medianSeconds", median)
    json.member("maxSeconds", maximum)
    json.member("rate", rate)
  }
}
