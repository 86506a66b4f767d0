import Foundation

switch CommandLine.arguments.dropFirst().first {
case "lmdb": try runLMDBBenchmark(Array(CommandLine.arguments.dropFirst(2)))
case "seam": try runSeamBenchmark(Array(CommandLine.arguments.dropFirst(2)))
default:
  FileHandle.standardError.write(Data("usage: KVCloneLayerBenchmark lmdb|seam …\n".utf8))
  exit(64)
}
