"""Reads gpulse's Kafka topic with Spark Structured Streaming, tags its rows and keeps them in the lake's GPU table.

A file is called after the partition and the offsets in it, as `gpulse pipe` calls its files. A batch that is done again
after a kill makes the same names, so nothing is there twice; what is half-written is under a name that readers pass over.
"""

import argparse
import json
from pathlib import Path
from urllib.parse import quote

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--brokers", required=True, help="HOST:PORT, more with commas")
parser.add_argument("--topic", required=True)
parser.add_argument("--lake", required=True, help="a path Hadoop knows, such as hdfs://namenode:8020/lake")
parser.add_argument("--checkpoint", help="default: LAKE/_checkpoints/TOPIC")
parser.add_argument("--every", default="30 seconds", help="time between batches")
parser.add_argument("--batch", type=int, default=500_000, help="messages a batch at most")
parser.add_argument("--once", action="store_true", help="end when everything that is there now is kept")
parser.add_argument("--kafka", action="append", default=[], metavar="NAME=VALUE", help="such as security.protocol=SASL_SSL")
args = parser.parse_args()

MESSAGE = """version INT, time STRING, host STRING,
    gpu STRUCT<uuid: STRING, index: INT, vendor: STRING, model: STRING, simulated: BOOLEAN>,
    values MAP<STRING, DOUBLE>, tags ARRAY<STRING>, broken STRING"""


def generated(name):
    """Loads a generated file from beside this file, or from the working directory, where `--files` puts it."""
    beside = Path(__file__).resolve().parent / name
    return json.loads((beside if beside.exists() else Path(name)).read_text())


columns = generated("columns.json")["columns"]
thresholds = generated("thresholds.json")["thresholds"]
lake = args.lake.rstrip("/")
spark = (
    SparkSession.builder.appName(f"gpulse {args.topic}")
    .config("spark.sql.session.timeZone", "UTC")
    .config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MILLIS")
    .getOrCreate()
)
hadoop = spark.sparkContext._jvm.org.apache.hadoop.fs


def rows_of(batch):
    """One row per message, and whether this job understands the message."""
    message = F.from_json(F.col("value").cast("string"), MESSAGE, {"columnNameOfCorruptRecord": "broken"})
    read = batch.withColumn("m", message).withColumn("at", F.try_to_timestamp("m.time"))
    vendor = F.col("m.gpu.vendor")
    whose = F.col("m.gpu").isNull() | (
        (F.length("m.gpu.uuid") > 0)
        & F.col("m.gpu.index").isNotNull()
        & (vendor.isNull() | vendor.isin("nvidia", "amd", "intel"))
    )
    good = (
        F.col("m.broken").isNull()
        & (F.col("m.version") == 1)
        & F.col("at").isNotNull()
        & (F.length("m.host") > 0)
        & F.col("m.values").isNotNull()
        & whose
    )
    return read.withColumn("good", F.coalesce(good, F.lit(False)))


def gpu_table(rows):
    value = lambda name: F.col("m.values")[name]
    found = [
        F.when(value(one["column"]) * F.lit(float(one["scale"])) > F.lit(float(one["above"])), one["tag"])
        for one in thresholds
    ]
    existing = F.coalesce(F.col("m.tags"), F.array().cast("array<string>"))
    tags = F.array_join(F.array_distinct(F.array_compact(F.concat(existing, F.array(*found)))), ",")
    known = F.col("m.gpu.vendor").isNotNull() & F.col("m.gpu.model").isNotNull()
    identity = {
        "time": F.col("at"),
        "host": F.col("m.host"),
        "uuid": F.col("m.gpu.uuid"),
        "gpu": F.col("m.gpu.index"),
        "vendor": F.when(known, F.col("m.gpu.vendor")),
        "model": F.when(known, F.col("m.gpu.model")),
        "simulated": F.when(known, F.coalesce(F.col("m.gpu.simulated"), F.lit(False))),
        "tags": F.nullif(tags, F.lit("")),
    }
    readings = [value(name) for name in columns if name not in identity]
    return (
        rows.where(F.col("good") & F.col("m.gpu").isNotNull() & F.coalesce(*readings).isNotNull())
        .select(
            "partition",
            "offset",
            F.date_format("at", "yyyy-MM-dd").alias("date"),
            *[identity.get(name, value(name)).cast(kind).alias(name) for name, kind in columns.items()],
        )
        .repartition("partition")
        .sortWithinPartitions("partition", "date", "uuid", "time")
    )


def dead_letters(rows):
    date = F.date_format("timestamp", "yyyy-MM-dd").alias("date")
    return rows.where(~F.col("good")).select("partition", "offset", date, "key", "value").repartition("partition")


def keep(rows, table, batch_id):
    """Writes to a staging folder, then renames every file after its content. An existing file of that name has the same rows."""
    aside = f"{lake}/_staging/{quote(args.topic, safe='')}-{batch_id}-{table}"
    ends = rows.groupBy("partition", "date").agg(F.min("offset").alias("first"), F.max("offset").alias("last")).collect()
    if not ends:
        return
    rows.drop("offset").write.mode("overwrite").partitionBy("partition", "date").parquet(aside)
    files = hadoop.Path(lake).getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    for end in ends:
        folder = hadoop.Path(f"{lake}/{table}/date={end.date}")
        files.mkdirs(folder)
        name = f"{quote(args.topic, safe='')}.p{end.partition}.o{end.first}-{end.last}.parquet"
        made = files.globStatus(hadoop.Path(f"{aside}/partition={end.partition}/date={end.date}/*.parquet"))
        if len(made) != 1:
            raise RuntimeError(f"{len(made)} files where one was written: {aside}")
        target = hadoop.Path(folder, name)
        if not files.exists(target) and not files.rename(made[0].getPath(), target):
            raise RuntimeError(f"{target} could not be put in place")
    files.delete(hadoop.Path(aside), True)


def take(batch, batch_id):
    rows = rows_of(batch).persist()
    keep(gpu_table(rows), "gpu", batch_id)
    keep(dead_letters(rows), "_dead-letter", batch_id)
    rows.unpersist()


stream = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", args.brokers)
    .option("subscribe", args.topic)
    .option("startingOffsets", "earliest")
    .option("maxOffsetsPerTrigger", args.batch)
    .options(**{f"kafka.{name}": value for name, value in (one.split("=", 1) for one in args.kafka)})
    .load()
    .writeStream.foreachBatch(take)
    .option("checkpointLocation", args.checkpoint or f"{lake}/_checkpoints/{quote(args.topic, safe='')}")
    .trigger(**({"availableNow": True} if args.once else {"processingTime": args.every}))
    .start()
)
stream.awaitTermination()
