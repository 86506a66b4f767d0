/// Which automatic snapshots stay when another one is made. Those that users made, and those that somebody holds, always do.
///
/// A snapshot stays if any of the rules wants it. Hours, days and weeks are those of UTC; a week begins on Monday.
public struct SnapshotRetention: Sendable, Hashable {
  /// The youngest ones, so many.
  public var last: Int
  /// The youngest of each hour, for so many hours of which there is one.
  public var hourly: Int
  /// The youngest of each day, for so many days of which there is one.
  public var daily: Int
  /// The youngest of each week, for so many weeks of which there is one.
  public var weekly: Int

  /// Ten, and one a day for a week; or as the arguments say.
  public init(last: Int = 10, hourly: Int = 0, daily: Int = 7, weekly: Int = 0) {
    self.last = last
    self.hourly = hourly
    self.daily = daily
    self.weekly = weekly
  }

  private static let hour = 3600.0
  private static let day = 24 * hour
  /// 2001 began on a Monday.
  private static let week = 7 * day

  /// Those that no rule wants.
  ///
  /// - Parameter created: by name: seconds since 2001.
  func superfluous(_ created: [(name: String, created: Double)]) -> [String] {
    let youngestFirst = created.sorted { $0.created > $1.created }
    var kept = Set(youngestFirst.prefix(max(0, last)).map(\.name))
    for (count, length) in [(hourly, Self.hour), (daily, Self.day), (weekly, Self.week)] {
      var periods: Set<Double> = []
      for snapshot in youngestFirst where periods.count < count {
        if periods.insert((snapshot.created / length).rounded(.down)).inserted { kept.insert(snapshot.name) }
      }
    }
    return youngestFirst.map(\.name).filter { !kept.contains($0) }
  }
}
