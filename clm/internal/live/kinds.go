// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// resource is a type of objects and its name in paths and rules.
type resource struct {
	schema.GroupVersionKind
	plural string
}

// What workloads are made of. ControllerRevisions and EndpointSlices have owners, too, and say nothing about how these are doing.
var (
	deployments  = resource{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, "deployments"}
	statefulSets = resource{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}, "statefulsets"}
	daemonSets   = resource{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "DaemonSet"}, "daemonsets"}
	replicaSets  = resource{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}, "replicasets"}
	cronJobs     = resource{schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"}, "cronjobs"}
	jobs         = resource{schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, "jobs"}
	pods         = resource{schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, "pods"}
	claims       = resource{schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}, "persistentvolumeclaims"}
	events       = resource{schema.GroupVersionKind{Version: "v1", Kind: "Event"}, "events"}
)

// workloads are all types that an operator may make of a custom resource, and that are looked for therefore.
var workloads = []resource{deployments, statefulSets, daemonSets, replicaSets, cronJobs, jobs, pods, claims}

// ownedTypes are the types of the objects below those of a type, at any depth.
var ownedTypes = map[schema.GroupKind][]resource{
	deployments.GroupKind():  {replicaSets, pods, claims},
	statefulSets.GroupKind(): {pods, claims},
	daemonSets.GroupKind():   {pods, claims},
	replicaSets.GroupKind():  {pods, claims},
	cronJobs.GroupKind():     {jobs, pods, claims},
	jobs.GroupKind():         {pods, claims},
	pods.GroupKind():         {claims},

	{Kind: "ReplicationController"}: {pods, claims},
}

// isCustom reports whether the type is not one of Kubernetes itself, so that nobody knows what its objects own.
func isCustom(kind schema.GroupKind) bool {
	aggregated := []string{"apiextensions.k8s.io", "apiregistration.k8s.io"}
	return !clientgoscheme.Scheme.IsGroupRegistered(kind.Group) && !slices.Contains(aggregated, kind.Group)
}

// isJustMetadata reports whether all there is to know about objects of the type is that they exist. What they hold is often large, or
// secret.
func isJustMetadata(kind schema.GroupKind) bool {
	return kind.Group == "" && (kind.Kind == "Secret" || kind.Kind == "ConfigMap")
}
