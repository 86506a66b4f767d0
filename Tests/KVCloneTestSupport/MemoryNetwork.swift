package import KVCloneCore
package import KVCloneLMDB

/// The properties of a `MemoryStorage` that stands for an engine across a network.
package final class MemoryNetwork: EngineNetwork {
  /// The store that the engine leads to.
  private let place: String

  package let readThreads: ReadThreads

  package init(place: String = "", threadCount: Int = 2) {
    self.place = place
    readThreads = ReadThreads(count: threadCount)
  }

  package var pinnedSnapshotDefaults: (limit: Int, maximumAge: Duration) { (2, .milliseconds(200)) }

  package func isSameStore(as other: any EngineNetwork) -> Bool { place == (other as? MemoryNetwork)?.place }
}
