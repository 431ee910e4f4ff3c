// SPDX-License-Identifier: Apache-2.0
//! kube-rs: lists, a watch, a reflector's watcher, creating, server-side apply, waiting for conditions, deleting.
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::{watcher, WatchStreamExt};
use kube::{Client, ResourceExt};
use serde_json::{from_value, json};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// The life of a ConfigMap, as a plain watch tells it.
async fn watch(client: Client) -> Outcome<()> {
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let begun = maps.list(&ListParams::default()).await?.metadata.resource_version.unwrap_or_default();
    let parameters = WatchParams::default().labels("by=watch").timeout(30);
    let mut events = maps.watch(&parameters, &begun).await?.boxed();
    let map = from_value(json!({"metadata": {"name": "watched", "labels": {"by": "watch"}}, "data": {"k": "1"}}))?;
    maps.create(&PostParams::default(), &map).await?;
    let applied = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "watched"}, "data": {"l": "2"}});
    let patched = maps.patch("watched", &PatchParams::apply("berth-clients"), &Patch::Apply(&applied)).await?;
    if patched.data.map(|data| data.len()) != Some(2) {
        return Err("an apply has taken away what it does not own".into());
    }
    maps.delete("watched", &DeleteParams::default()).await?;
    let mut seen = Vec::new();
    while seen.len() < 3 {
        match events.try_next().await? {
            Some(WatchEvent::Added(_)) => seen.push("added"),
            Some(WatchEvent::Modified(_)) => seen.push("modified"),
            Some(WatchEvent::Deleted(_)) => seen.push("deleted"),
            Some(WatchEvent::Bookmark(_)) => {}
            other => return Err(format!("the watch told {other:?} after {seen:?}").into()),
        }
    }
    if seen != ["added", "modified", "deleted"] {
        return Err(format!("the watch told {seen:?}").into());
    }
    Ok(())
}

/// A pod that is placed and runs, by a watcher that lists first, and by one that asks for a streaming list.
async fn run(client: Client, name: &str, configuration: watcher::Config) -> Outcome<()> {
    let pods: Api<Pod> = Api::default_namespaced(client);
    let pod = from_value(json!({"metadata": {"name": name, "labels": {"by": name}},
        "spec": {"containers": [{"name": "c", "image": "nginx"}]}}))?;
    pods.create(&PostParams::default(), &pod).await?;
    let mut states = watcher(pods.clone(), configuration.labels(&format!("by={name}"))).applied_objects().boxed();
    loop {
        let pod = states.try_next().await?.ok_or("the watcher has ended")?;
        if pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Running") {
            break;
        }
    }
    await_condition(pods.clone(), name, conditions::is_pod_running()).await?;
    let uid = pods.get(name).await?.uid().unwrap_or_default();
    pods.delete(name, &DeleteParams::default()).await?;
    await_condition(pods, name, conditions::is_deleted(&uid)).await?;
    Ok(())
}

async fn all() -> Outcome<()> {
    let client = Client::try_default().await?;
    let nodes: Api<Node> = Api::all(client.clone());
    while nodes.list(&ListParams::default()).await?.items.len() < 3 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    watch(client.clone()).await?;
    run(client.clone(), "listed", watcher::Config::default()).await?;
    run(client, "streamed", watcher::Config::default().streaming_lists()).await
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let why = match tokio::time::timeout(Duration::from_secs(90), all()).await {
        Ok(Ok(())) => return,
        Ok(Err(error)) => error.to_string(),
        Err(_) => "did not end within 90 s".to_string(),
    };
    println!("kube-rs: {why}");
    std::process::exit(1);
}
