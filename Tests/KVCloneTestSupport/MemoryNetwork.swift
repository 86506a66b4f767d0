package import KVCloneCore
package import KVCloneLMDB

/// The properties of a `MemoryStorage` that stands for an engine across a network.
package final class MemoryNetwork: EngineNetwork {
  /// The store that the engine leads to.
  private let place: String

  package let readThreads: ReadThreads
  package let pinnedSnapshotDefaults: (limit: Int, maximumAge: Duration)

  package init(place: String = "", threadCount: Int = 2, maximumAge: Duration = .unreached) {
    self.place = place
    pinnedSnapshotDefaults = (2, maximumAge)
    readThreads = ReadThreads(count: threadCount)
  }

  package func isSameStore(as other: any EngineNetwork) -> Bool { place == (other as? MemoryNetwork)?.place }
}
