import BenchmarkSupport
import Foundation
import PhotoStores

/// What a peer's process is asked for, as JSON in its argument.
struct PeerRequest: Codable {
  enum Verb: String, Codable {
    /// Make a store from the recipe.
    case prepare
    /// Open a store and clone its root.
    case clone
    /// Work with the library's stores that has a driver of its own: see `StoreWork`.
    case work
  }

  var verb: Verb
  var peer: Peer
  var path: String
  var recipe: GraphRecipe
  /// A small store of the same family, which is cloned first and not measured: what a process does once is not in the
  /// time then, because stores are used by processes that live long.
  var warmUpPath: String?
  /// How many clones, one after the other.
  var repeats = 1
  /// Names of the roots that are cloned at once; the first library or node where it is empty.
  var roots: [String] = []
  /// Write a line to /dev/null before and after the clone, for who looks at the calls from outside.
  var marks = false
  /// Look at the process's memory meanwhile.
  var samplesMemory = true
  var work: StoreWork?

  init(_ verb: Verb, _ peer: Peer, _ path: String, _ recipe: GraphRecipe) {
    (self.verb, self.peer, self.path, self.recipe) = (verb, peer, path, recipe)
  }
}

/// What it answers: one line of JSON on standard output.
struct PeerReply: Codable {
  var error: String?
  /// From the call to the durable return; one for each repeat.
  var seconds: [Double] = []
  /// The parts of the last repeat's time, by name, where the peer knows them.
  var parts: [String: Double] = [:]
  var objects = 0
  /// The peak of the whole process's anonymous memory while it cloned, in bytes, and how much more that is than before.
  var peakAnonymousBytes = 0
  var grownAnonymousBytes = 0
  var diskBytesRead = 0
  /// Processor time of all repeats.
  var processorSeconds = 0.0
  /// Lengths of the store's files, before and after, in bytes.
  var fileBytesBefore = 0
  var fileBytesAfter = 0
  /// What special work has to say.
  var figures: [String: Double] = [:]
}
