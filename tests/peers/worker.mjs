// SPDX-License-Identifier: MIT
//
// BullMQ as a peer of the bench: the same POST as the worker's, signed, with a webhook-id, over a keep-alive pool.
//
//     node worker.mjs fill PORT FROM COUNT CONTENT_BYTES     adds jobs, ids item-FROM and so on; job ids are item ids
//     node worker.mjs work PORT CONCURRENCY URL SECRET       works until SIGTERM
//
// What completes is removed, which is the cheapest that BullMQ does; the worker that it is compared with keeps a row.
import { createHmac } from 'node:crypto';
import IORedis from 'ioredis';
import { Queue, Worker } from 'bullmq';
import { Agent, request } from 'undici';

const NAME = 'bench';
const BULK = 500;
const [mode, port, ...rest] = process.argv.slice(2);
const connect = () => new IORedis({ host: '127.0.0.1', port: Number(port), maxRetriesPerRequest: null });

async function fill(from, count, contentBytes) {
  const connection = connect();
  const queue = new Queue(NAME, { connection });
  const text = 'x'.repeat(contentBytes);
  for (let at = from; at < from + count; at += BULK) {
    const size = Math.min(BULK, from + count - at);
    await queue.addBulk(Array.from({ length: size }, (_, i) => {
      const id = `item-${at + i}`;
      const data = { id, url: `https://blog.example/p/${id}`, title: `Title of ${id}`, content_text: text };
      return { name: 'post', data, opts: { jobId: id, removeOnComplete: true, attempts: 5 } };
    }));
  }
  await queue.close();
  connection.disconnect();
}

function work(concurrency, url, secret) {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const dispatcher = new Agent({ connections: concurrency, pipelining: 1 });
  const post = async (job) => {
    const body = JSON.stringify({ type: 'item.published', timestamp: job.timestamp, data: job.data });
    const timestamp = String(Math.floor(Date.now() / 1000));
    const signature = createHmac('sha256', key).update(`${job.id}.${timestamp}.${body}`).digest('base64');
    const answer = await request(url, {
      method: 'POST', body, dispatcher,
      headers: {
        'content-type': 'application/json', 'webhook-id': job.id, 'webhook-timestamp': timestamp,
        'webhook-signature': `v1,${signature}`,
      },
    });
    await answer.body.dump();
    if (answer.statusCode !== 204) throw new Error(`status ${answer.statusCode}`);
  };
  const worker = new Worker(NAME, post, { connection: connect(), concurrency });
  worker.on('failed', (job, error) => console.error(job?.id, error.message));
  worker.on('error', (error) => console.error(error.message));
  process.on('SIGTERM', () => process.exit(0));
}

if (mode === 'fill') await fill(...rest.map(Number));
else work(Number(rest[0]), rest[1], rest[2]);
