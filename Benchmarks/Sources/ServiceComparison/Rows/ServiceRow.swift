import BenchmarkSupport

/// A row of the benchmark, with its name for `--only`.
enum ServiceRow: String, CaseIterable {
  case tasks64 = "tasks-64"
  case tasks8 = "tasks-8"
  case tasks1 = "tasks-1"
  case links
  case readersLimited = "readers-limited"
  case readers
  case savepoints
  case coldPhotos = "cold-photos"
  case coldObjects = "cold-objects"
  case dump
  case load
  case coreData = "import"

  func title(_ sizes: ServiceSizes) -> String {
    switch self {
    case .tasks64: "64 tasks, each writing one object per durable transaction"
    case .tasks8: "8 tasks, each writing one object per durable transaction"
    case .tasks1: "1 task, writing one object per durable transaction"
    case .links: "1 task, writing one object with two links per durable transaction"
    case .readersLimited: "a writer next to 8 readers by id with 20,000 reads/s together"
    case .readers: "a writer next to 8 readers by id without a limit"
    case .savepoints: "1,000 inserts in one durable transaction, each in a savepoint, half of which throw"
    case .coldPhotos: "cold clone of \(grouped(sizes.photos)) photos with 100 kB images"
    case .coldObjects: "cold clone of \(grouped(sizes.objects)) small objects"
    case .dump: "kvclone dump of \(grouped(sizes.objects)) objects with two shared tags each"
    case .load: "kvclone load of \(grouped(sizes.objects)) objects with two shared tags each"
    case .coreData: "kvclone import of \(grouped(sizes.objects)) objects with two shared tags each"
    }
  }
}
