/// The sizes of the workloads.
struct ServiceSizes {
  /// The initial number of events in a store.
  var events = 100_000
  /// The initial number of items in a store.
  var items = 1_000_000
  /// The number of photos with images in a cold clone.
  var photos = 20_000
  /// The number of small objects in a cold clone, or in a load by the tool.
  var objects = 1_000_000
  /// The duration of a round of transactions.
  var seconds = 3.0
  var rounds = 5
  var savepointRounds = 25
  /// The number of rounds of slow rows.
  var slowRounds = 3

  static let full = ServiceSizes()
  static let quick = ServiceSizes(
    events: 10_000, items: 50_000, photos: 2_000, objects: 100_000, seconds: 0.5, rounds: 3, savepointRounds: 9,
    slowRounds: 2)
}
