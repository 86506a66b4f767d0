/// The rules for keeping automatic snapshots when another one is created.
///
/// A snapshot is kept if any rule selects it. Snapshots created by users, and held snapshots, are always kept. Hours,
/// days and weeks are in UTC, and weeks begin on Monday.
public struct SnapshotRetention: Sendable, Hashable {
  /// The number of latest snapshots to keep.
  public var last: Int
  /// The number of hours for which the latest snapshot is kept. Hours without a snapshot do not count.
  public var hourly: Int
  /// The number of days for which the latest snapshot is kept. Days without a snapshot do not count.
  public var daily: Int
  /// The number of weeks for which the latest snapshot is kept. Weeks without a snapshot do not count.
  public var weekly: Int

  /// Creates retention rules. The default keeps the 10 latest snapshots, and one per day for 7 days.
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

  /// The snapshots that no rule keeps.
  ///
  /// - Parameter created: by name: seconds since 2001.
  package func superfluous(_ created: [(name: String, created: Double)]) -> [String] {
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
