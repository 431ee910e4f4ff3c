// SPDX-License-Identifier: Apache-2.0
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** fabric8: a watch, an informer, creating, editing, waiting and deleting. It watches over WebSockets unless it is refused. */
public final class Client {
  private static final String NAMESPACE = "default";
  private static String backend;

  private static void fail(String why) {
    System.out.println("fabric8: with " + backend + ": " + why);
    System.exit(1);
  }

  private static void expect(BlockingQueue<String> events, String want) throws InterruptedException {
    String got = events.poll(15, TimeUnit.SECONDS);
    if (!want.equals(got)) {
      fail(got == null ? want + " did not come" : got + " came in place of " + want);
    }
  }

  private static ConfigMap map(String name, String value) {
    return new ConfigMapBuilder().withNewMetadata().withName(name).addToLabels("by", backend).endMetadata()
        .addToData("k", value).build();
  }

  private static void watch(KubernetesClient client) throws InterruptedException {
    BlockingQueue<String> events = new LinkedBlockingQueue<>();
    var maps = client.configMaps().inNamespace(NAMESPACE);
    try (var watch = maps.withLabel("by", backend).watch(new Watcher<ConfigMap>() {
      @Override public void eventReceived(Action action, ConfigMap map) {
        events.add(action + " " + map.getData().get("k"));
      }
      @Override public void onClose(WatcherException cause) {
        events.add("closed by " + cause);
      }
    })) {
      maps.resource(map("watched-" + backend, "1")).create();
      expect(events, "ADDED 1");
      maps.withName("watched-" + backend).edit(map -> new ConfigMapBuilder(map).addToData("k", "2").build());
      expect(events, "MODIFIED 2");
      maps.withName("watched-" + backend).delete();
      expect(events, "DELETED 2");
    }
  }

  private static void inform(KubernetesClient client) throws InterruptedException {
    BlockingQueue<String> events = new LinkedBlockingQueue<>();
    try (var informer = client.pods().inNamespace(NAMESPACE).withLabel("by", backend).inform(new ResourceEventHandler<Pod>() {
      @Override public void onAdd(Pod pod) {
        events.add("add");
      }
      @Override public void onUpdate(Pod before, Pod pod) {
        if ("Running".equals(pod.getStatus().getPhase()) && !"Running".equals(before.getStatus().getPhase())) {
          events.add("runs on " + (pod.getSpec().getNodeName() == null ? "no node" : "a node"));
        }
      }
      @Override public void onDelete(Pod pod, boolean isLate) {
        events.add("delete");
      }
    })) {
      var pods = client.pods().inNamespace(NAMESPACE);
      pods.resource(new PodBuilder().withNewMetadata().withName("pod-" + backend).addToLabels("by", backend).endMetadata()
          .withNewSpec().addNewContainer().withName("c").withImage("nginx").endContainer().endSpec().build()).create();
      expect(events, "add");
      pods.withName("pod-" + backend).waitUntilReady(20, TimeUnit.SECONDS);
      expect(events, "runs on a node");
      pods.withName("pod-" + backend).delete();
      expect(events, "delete");
    }
  }

  public static void main(String[] arguments) throws InterruptedException {
    backend = arguments[0];
    try (KubernetesClient client = new KubernetesClientBuilder().build()) {
      if (client.nodes().list().getItems().isEmpty()) {
        fail("there are no nodes");
      }
      watch(client);
      inform(client);
    } catch (RuntimeException error) {
      fail(error.toString());
    }
    System.exit(0);
  }
}
