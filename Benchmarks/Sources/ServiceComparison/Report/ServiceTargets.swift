import BenchmarkSupport

/// Compares the results with the targets.
struct ServiceTargets {
  let results: ServiceResults

  private static let log = "KVClone, write-ahead log"
  private static let sqlite = "SQLite through GRDB"
  private static let lmdb = "C on LMDB"

  var all: [Target] {
    [
      rate(.tasks64, atLeast: 8), latency(.tasks64, atMost: 1.0 / 3), rate(.tasks8, atLeast: 3),
      rate(.tasks1, atLeast: 1.2), rate(.links, atLeast: 1), rate(.readersLimited, atLeast: 1),
      rate(.readers, against: Self.lmdb, atLeast: 0.8), reads(.readers, atLeast: 30), savepoints,
      coldPhotos, coldObjects, seconds(.load, atMost: 6), seconds(.dump, atMost: 2), seconds(.coreData, atMost: 4),
      memory(.load), memory(.dump), memory(.coreData),
    ]
  }

  private func title(_ row: ServiceRow) -> String { row.title(results.sizes) }

  private func rate(_ row: ServiceRow, against other: String = sqlite, atLeast limit: Double) -> Target {
    let limitText = "≥ \(Plot.compact(limit)) × \(other)"
    guard let one = results[row]?[Self.log], let other = results[row]?[other] else {
      return Target(title: title(row), limit: limitText, figure: "", verdict: .unknown)
    }
    let ratio = one.rate / other.rate
    return Target(
      title: title(row), limit: limitText,
      figure: "\(grouped(Int(one.rate)))/s against \(grouped(Int(other.rate)))/s: \(fixed(ratio, 2)) ×",
      verdict: ratio >= limit ? .met : .missed)
  }

  private func latency(_ row: ServiceRow, atMost limit: Double) -> Target {
    let (title, limitText) = (title(row) + ": p99", "≤ \(fixed(limit, 2)) × \(Self.sqlite)")
    guard let one = results[row]?[Self.log]?.latency(0.99), let other = results[row]?[Self.sqlite]?.latency(0.99) else {
      return Target(title: title, limit: limitText, figure: "", verdict: .unknown)
    }
    return Target(
      title: title, limit: limitText,
      figure: "\(duration(one)) against \(duration(other)): \(fixed(one / other, 2)) ×",
      verdict: one / other <= limit ? .met : .missed)
  }

  private func reads(_ row: ServiceRow, atLeast limit: Double) -> Target {
    let (title, limitText) = (title(row) + ": reads", "≥ \(Plot.compact(limit)) × \(Self.sqlite)")
    guard let one = results[row]?[Self.log]?.readRate, let other = results[row]?[Self.sqlite]?.readRate else {
      return Target(title: title, limit: limitText, figure: "", verdict: .unknown)
    }
    return Target(
      title: title, limit: limitText,
      figure: "\(grouped(Int(one)))/s against \(grouped(Int(other)))/s: \(fixed(one / other, 1)) ×",
      verdict: one / other >= limit ? .met : .missed)
  }

  private var savepoints: Target {
    let (row, limit) = (ServiceRow.savepoints, 2.0)
    let limitText = "≤ \(Plot.compact(limit)) × without"
    guard let one = results[row]?[Self.log]?.seconds.median,
      let other = results[row]?[Self.log + SavepointsRow.without]?.seconds.median
    else { return Target(title: title(row), limit: limitText, figure: "", verdict: .unknown) }
    return Target(
      title: title(row), limit: limitText,
      figure: "\(duration(one)) against \(duration(other)): \(fixed(one / other, 2)) ×",
      verdict: one / other <= limit ? .met : .missed)
  }

  private var coldPhotos: Target { seconds(.coldPhotos, atMost: 0.06, contestant: CloneProcess.Peer.kvclone.title) }

  private var coldObjects: Target {
    let (title, limit) = (title(.coldObjects), 1.05)
    let limitText = "≤ \(Plot.compact(limit)) × \(Self.lmdb)"
    guard let one = results[.coldObjects]?[CloneProcess.Peer.kvclone.title]?.seconds.median,
      let other = results[.coldObjects]?[CloneProcess.Peer.lmdb.title]?.seconds.median
    else { return Target(title: title, limit: limitText, figure: "", verdict: .unknown) }
    return Target(
      title: title, limit: limitText,
      figure: "\(duration(one)) against \(duration(other)): \(fixed(one / other, 2)) ×",
      verdict: one / other <= limit ? .met : .missed)
  }

  /// A limit for the full size; a quick run is smaller, and has no verdict.
  private func seconds(_ row: ServiceRow, atMost limit: Double, contestant: String = "kvclone") -> Target {
    let limitText = "≤ \(duration(limit))"
    guard let seconds = results[row]?[contestant]?.seconds.median else {
      return Target(title: title(row), limit: limitText, figure: "", verdict: .unknown)
    }
    return Target(
      title: title(row), limit: results.isQuick ? limitText + " at full size" : limitText, figure: duration(seconds),
      verdict: results.isQuick ? .unknown : seconds <= limit ? .met : .missed)
  }

  private func memory(_ row: ServiceRow) -> Target {
    let (title, limit) = (title(row) + ": peak anonymous memory", 64 << 20)
    let limitText = "≤ \(mebibytes(limit)) MiB"
    guard let peak = results[row]?["kvclone"]?.anonymousBytes else {
      return Target(title: title, limit: limitText, figure: "", verdict: .unknown)
    }
    return Target(
      title: title, limit: results.isQuick ? limitText + " at full size" : limitText, figure: mebibytes(peak) + " MiB",
      verdict: results.isQuick ? .unknown : peak <= limit ? .met : .missed)
  }
}
