// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// resource is a type of objects, with its name in API paths and RBAC rules.
type resource struct {
	schema.GroupVersionKind
	plural string
}

// The types that workloads consist of. ControllerRevisions and EndpointSlices have owners, too, but say nothing about
// the state of these.
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

// workloads are the types of which an operator may create objects for a custom resource.
var workloads = []resource{deployments, statefulSets, daemonSets, replicaSets, cronJobs, jobs, pods, claims}

// ownedTypes has the types of the objects that an object of a type may own, at any depth.
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

// isCustom reports whether the type is not one of Kubernetes itself, so the types of the objects that it owns are
// unknown.
func isCustom(kind schema.GroupKind) bool {
	aggregated := []string{"apiextensions.k8s.io", "apiregistration.k8s.io"}
	return !clientgoscheme.Scheme.IsGroupRegistered(kind.Group) && !slices.Contains(aggregated, kind.Group)
}

// hasAllInStatus reports whether the status message of an object of the type has all reasons why it is not ready: it
// owns nothing, and Kubernetes reports no events about it.
func hasAllInStatus(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}

// isJustMetadata reports whether metadata is enough to compute the status of objects of the type. Their content is
// often large or secret.
func isJustMetadata(kind schema.GroupKind) bool {
	return kind.Group == "" && (kind.Kind == "Secret" || kind.Kind == "ConfigMap")
}
