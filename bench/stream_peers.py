"""The peers of the streams benchmark, as a data engineer writes them: native clients, large batches, nothing checked.

stream_peers.py produce BROKER TOPIC LOG            rows of a GPU-Z log as JSON, gzip
stream_peers.py parquet BROKER TOPIC ROWS FILE      JSON messages into one Parquet file
stream_peers.py influxdb BROKER TOPIC ROWS URL      JSON messages as lines to URL
"""

import csv
import json
import sys
import urllib.request
from datetime import datetime, timezone

from confluent_kafka import Consumer, KafkaException, Producer

BATCH = 10_000


def produce(broker, topic, log):
    producer = Producer(
        {
            "bootstrap.servers": broker,
            "compression.type": "gzip",
            "linger.ms": 50,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    gpu = {"uuid": "GPU-0", "index": 0, "vendor": "nvidia", "model": "GeForce RTX 4090"}
    with open(log, encoding="latin-1", newline="") as file:
        rows = csv.reader(file)
        names = [name.strip() for name in next(rows)][1:]
        for row in rows:
            time = datetime.strptime(row[0].strip(), "%Y-%m-%d %H:%M:%S").replace(tzinfo=timezone.utc)
            values = {name: float(cell) for name, cell in zip(names, row[1:]) if name and cell.strip()}
            message = {"version": 1, "time": time.isoformat(), "host": "bench", "gpu": gpu, "values": values}
            while True:
                try:
                    producer.produce(topic, json.dumps(message, separators=(",", ":")), "GPU-0")
                    break
                except BufferError:
                    producer.poll(0.1)
            producer.poll(0)
    if producer.flush(60) > 0:
        raise SystemExit("not every message was delivered")


def messages(broker, topic, rows):
    """Yields lists of decoded messages until all rows have been read; commits as it goes."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker,
            "group.id": f"peer-{datetime.now().timestamp()}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    left = rows
    while left > 0:
        batch = consumer.consume(min(BATCH, left), 1)
        for message in batch:
            if message.error():
                raise KafkaException(message.error())
        if batch:
            yield [json.loads(message.value()) for message in batch]
            consumer.commit(asynchronous=False)
        left -= len(batch)
    consumer.close()


def parquet(broker, topic, rows, file):
    import pyarrow
    import pyarrow.parquet

    writer = None
    for batch in messages(broker, topic, int(rows)):
        names = list(batch[0]["values"])
        columns = {
            "time": pyarrow.array([datetime.fromisoformat(one["time"]) for one in batch]),
            "host": pyarrow.array([one["host"] for one in batch]).dictionary_encode(),
            "uuid": pyarrow.array([one["gpu"]["uuid"] for one in batch]).dictionary_encode(),
            **{
                name: pyarrow.array([one["values"].get(name) for one in batch], pyarrow.float64())
                for name in names
            },
        }
        table = pyarrow.table(columns)
        if writer is None:
            writer = pyarrow.parquet.ParquetWriter(file, table.schema, compression="zstd")
        writer.write_table(table)
    writer.close()


def influxdb(broker, topic, rows, url):
    for batch in messages(broker, topic, int(rows)):
        lines = []
        for one in batch:
            time = int(datetime.fromisoformat(one["time"]).timestamp() * 1_000)
            fields = ",".join(f"{name}={value}" for name, value in one["values"].items())
            lines.append(f"gpu,host={one['host']},uuid={one['gpu']['uuid']} {fields} {time}")
        request = urllib.request.Request(url, "\n".join(lines).encode(), method="POST")
        with urllib.request.urlopen(request, timeout=60) as response:
            response.read()


if __name__ == "__main__":
    {"produce": produce, "parquet": parquet, "influxdb": influxdb}[sys.argv[1]](*sys.argv[2:])
