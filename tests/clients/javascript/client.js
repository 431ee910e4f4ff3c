// SPDX-License-Identifier: Apache-2.0
// The JavaScript client: the written kubeconfig, lists, a watch, an informer, creating, patching, deleting, metrics.
import * as k8s from '@kubernetes/client-node';

const namespace = 'default';

function fail(why) {
  console.log(`javascript: ${why}`);
  process.exit(1);
}

process.on('uncaughtException', (error) => {
  console.log(error);
  fail(String(error.message).split('\n')[0]);
});

const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

async function until(what, done, seconds = 60) {
  for (const end = Date.now() + seconds * 1000; !(await done()); await sleep(100)) {
    if (Date.now() > end) fail(`${what}: did not come about within ${seconds} s`);
  }
}

const pod = (name) => ({
  metadata: {name, labels: {app: name}},
  spec: {containers: [{name: 'c', image: 'nginx', resources: {requests: {cpu: '500m', memory: '64Mi'}}}]},
});

async function watched(config, core) {
  const events = [];
  const watch = new k8s.Watch(config);
  const request = await watch.watch(`/api/v1/namespaces/${namespace}/pods`, {labelSelector: 'app=seen'},
      (type, object) => events.push(`${type} ${object.status?.phase}`), () => {});
  await core.createNamespacedPod({namespace, body: pod('seen')});
  await until('the watch tells that the pod runs', () => events.includes('MODIFIED Running'));
  await core.deleteNamespacedPod({name: 'seen', namespace});
  await until('the watch tells that the pod is gone', () => events.some((event) => event.startsWith('DELETED')));
  if (events[0] !== 'ADDED Pending') fail(`the watch began with ${events[0]}`);
  request.abort();
}

async function informed(config, core) {
  const informer = k8s.makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`,
      () => core.listNamespacedConfigMap({namespace}));
  const seen = [];
  informer.on('add', (object) => seen.push(`add ${object.metadata.name}`));
  informer.on('update', (object) => seen.push(`update ${object.data.k}`));
  informer.on('delete', (object) => seen.push(`delete ${object.metadata.name}`));
  let isStopped = false;
  informer.on('error', (error) => isStopped || fail(`the informer: ${error}`));
  await core.createNamespacedConfigMap({namespace, body: {metadata: {name: 'before'}, data: {k: '1'}}});
  await informer.start();
  await until('the informer knows what was there', () => seen.includes('add before'));
  await core.patchNamespacedConfigMap({name: 'before', namespace, body: [{op: 'replace', path: '/data/k', value: '2'}]});
  await until('the informer tells of an update', () => seen.includes('update 2'));
  await core.deleteNamespacedConfigMap({name: 'before', namespace});
  await until('the informer tells of a deletion', () => seen.includes('delete before'));
  isStopped = true;  // its request is then aborted, which it tells of as an error
  await informer.stop();
}

async function measured(config, core) {
  await core.createNamespacedPod({namespace, body: pod('busy')});
  await until('the pod runs', async () => (await core.readNamespacedPod({name: 'busy', namespace})).status.phase === 'Running');
  const metrics = new k8s.Metrics(config);
  await until('the pod has metrics', async () => {
    const {items} = await metrics.getPodMetrics(namespace);
    return items.length === 1 && items[0].containers[0].usage.memory === '32768Ki';
  });
  const {items} = await metrics.getNodeMetrics();
  if (items.length !== 3) fail(`${items.length} nodes have metrics`);
  const [top] = await k8s.topPods(core, metrics, namespace);
  if (Number(top.CPU.CurrentUsage) !== 0.25) fail(`topPods says ${top.CPU.CurrentUsage}`);
}

const config = new k8s.KubeConfig();
config.loadFromFile(process.env.KUBECONFIG);
const core = config.makeApiClient(k8s.CoreV1Api);
setTimeout(() => fail('did not end within two minutes'), 120_000).unref();
await until('three nodes', async () => (await core.listNode({})).items.length === 3);
await watched(config, core);
await informed(config, core);
await measured(config, core);
process.exit(0);
