#if Postgres
  import Foundation

  /// The sizes of campaigns.
  enum CampaignSize {
    /// The number of rounds that the environment variable `KVCLONE_POSTGRES_ROUNDS` gives, or a number for short runs.
    static func rounds(default count: Int) -> Int {
      ProcessInfo.processInfo.environment["KVCLONE_POSTGRES_ROUNDS"].flatMap { Int($0) } ?? count
    }
  }

  /// A campaign that cannot continue.
  struct CampaignFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
  }
#endif
