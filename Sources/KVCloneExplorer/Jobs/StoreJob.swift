import Foundation
import KVClone
import KVCloneCore
import KVCloneOperations

/// An operation that reads the whole store, in the background.
struct StoreJob: Sendable {
  enum Kind: Sendable, Equatable {
    /// An integrity check.
    case check(readsData: Bool)
    /// Measuring the space usage.
    case sizes
    /// Counting the objects by entity, of a snapshot or of the present.
    case counts(snapshot: String?)

    var title: String {
      switch self {
      case .check: "Check"
      case .sizes: "Space usage"
      case .counts: "Objects by entity"
      }
    }

    /// The segments of the path below which its jobs are.
    var path: [String] {
      switch self {
      case .check: ["store", "check"]
      case .sizes: ["store", "sizes"]
      case .counts: ["store", "counts"]
      }
    }
  }

  enum Outcome: Sendable {
    case running(OperationProgress?)
    case checked(CheckReport)
    case measured(DeepStatistics)
    case counted(EntityCounts)
    /// With the message of the error.
    case failed(String)
    case cancelled
  }

  let number: Int
  let kind: Kind
  let started: Date
  var ended: Date?
  var outcome: Outcome

  var isRunning: Bool { if case .running = outcome { true } else { false } }

  /// The state in documents.
  var state: String {
    switch outcome {
    case .running: "running"
    case .checked, .measured, .counted: "finished"
    case .failed: "failed"
    case .cancelled: "cancelled"
    }
  }
}
