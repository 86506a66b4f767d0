import BenchmarkSupport
import Foundation
import PhotoStores

/// A request to a peer's process, as JSON in its argument.
struct PeerRequest: Codable {
  enum Verb: String, Codable {
    /// Create a store from the recipe.
    case prepare
    /// Open a store and clone its root.
    case clone
    /// Other work on a KVClone store: see `StoreWork`.
    case work
  }

  var verb: Verb
  var peer: Peer
  var path: String
  var recipe: GraphRecipe
  /// A small store of the same family for a warm-up clone, so that one-time costs of a process are not measured: store
  /// processes are usually long-lived.
  var warmUpPath: String?
  /// The number of clones, one after another.
  var repeats = 1
  /// Names of the roots that are cloned together; if empty, the first library or node.
  var roots: [String] = []
  /// Whether to write marks to /dev/null before and after the clone, for a trace of system calls.
  var marks = false
  /// Whether to sample the process's memory.
  var samplesMemory = true
  var work: StoreWork?

  init(_ verb: Verb, _ peer: Peer, _ path: String, _ recipe: GraphRecipe) {
    (self.verb, self.peer, self.path, self.recipe) = (verb, peer, path, recipe)
  }
}

/// The answer: one line of JSON on standard output.
struct PeerReply: Codable {
  var error: String?
  /// The seconds from the call to the durable return, for each repeat.
  var seconds: [Double] = []
  /// The parts of the last repeat's time by name, if the peer reports them.
  var parts: [String: Double] = [:]
  var objects = 0
  /// The peak of the process's anonymous memory during the clones in bytes, and its growth.
  var peakAnonymousBytes = 0
  var grownAnonymousBytes = 0
  var diskBytesRead = 0
  /// The processor time of all repeats.
  var processorSeconds = 0.0
  /// The sizes of the store's files before and after, in bytes.
  var fileBytesBefore = 0
  var fileBytesAfter = 0
  /// Figures of `StoreWork`.
  var figures: [String: Double] = [:]
}
