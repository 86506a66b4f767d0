/// How much is done.
struct ServiceSizes {
  /// How many events a store is filled with before it is measured.
  var events = 100_000
  /// How many items.
  var items = 1_000_000
  /// How many photos with images a cold clone copies.
  var photos = 20_000
  /// How many small objects a cold clone copies, or the tool loads.
  var objects = 1_000_000
  /// How long a round of transactions lasts.
  var seconds = 3.0
  var rounds = 5
  var savepointRounds = 25
  /// Rounds that take long.
  var slowRounds = 3

  static let full = ServiceSizes()
  static let quick = ServiceSizes(
    events: 10_000, items: 50_000, photos: 2_000, objects: 100_000, seconds: 0.5, rounds: 3, savepointRounds: 9,
    slowRounds: 2)
}
