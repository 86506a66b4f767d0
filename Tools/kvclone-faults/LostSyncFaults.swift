import Foundation

/// fdatasync fails, and the kernel drops the dirty pages that it could not write; the process repeats the commit, and a
/// power loss follows.
enum LostSyncFaults: FaultClass {
  static let name = "lost-sync"
  static let number = "G5"

  /// The number of images in full mode, and of images per sync in quick mode.
  private static let (count, quickCount) = (2000, 4)

  static func groups(_ campaign: Campaign) throws -> [TrialGroup] {
    let context = try campaign.context()
    let syncs = context.calls.filter { $0.operation == "sync" }.count
    let chosen = Array(stride(from: 1, through: syncs, by: campaign.isQuick ? max(1, syncs / 4) : 1))
    let images = campaign.isQuick ? quickCount : (count + chosen.count - 1) / max(1, chosen.count)
    var trials: [Trial] = []
    for sync in chosen {
      let faults = ["FAIL": "\(sync):\(EIO)", "OPERATION": "sync", "DROP": "1"]
      let journal = try PowerLossFaults.record(context, faults: faults)
      trials += (0..<images).map {
        PowerLossFaults.trial(context, journal, id: "\(sync):\($0)", stream: UInt64(sync * 1000 + $0))
      }
    }
    return [
      TrialGroup(title: "failed sync drops its pages, the commit is repeated, then power loss", trials: trials)
    ]
  }
}
