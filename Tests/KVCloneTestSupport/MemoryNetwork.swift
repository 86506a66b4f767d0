package import KVCloneCore

/// The properties of a `MemoryStorage` that stands for an engine across a network.
package final class MemoryNetwork: EngineNetwork {
  package init() {}
}
