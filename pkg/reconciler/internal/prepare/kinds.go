// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package prepare

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/inventory"
)

const (
	GroupCRD        = "apiextensions.k8s.io"
	GroupAPIService = "apiregistration.k8s.io"
	GroupRBAC       = "rbac.authorization.k8s.io"
	GroupWebhook    = "admissionregistration.k8s.io"
)

// IsCRD reports whether objects of the kind are CustomResourceDefinitions.
func IsCRD(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Group: GroupCRD, Kind: "CustomResourceDefinition"}
}

// IsAPIService reports whether objects of the kind are APIServices.
func IsAPIService(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Group: GroupAPIService, Kind: "APIService"}
}

// IsNamespace reports whether objects of the kind are namespaces.
func IsNamespace(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Kind: "Namespace"}
}

// DefinesTypes reports whether objects of the kind define types.
func DefinesTypes(kind schema.GroupKind) bool {
	return IsCRD(kind) || IsAPIService(kind)
}

// HasContent reports whether other objects go with an object of the kind, although they have no owner references to it.
func HasContent(kind schema.GroupKind) bool {
	return IsNamespace(kind) || DefinesTypes(kind)
}

// Policies returns the policies of an owner as they hold for objects of the kind: its propagation policy concerns owner
// references.
func Policies(kind schema.GroupKind, policies inventory.Policies) inventory.Policies {
	if HasContent(kind) {
		policies.DeletePropagation = ""
	}
	return policies
}

// IsWebhookConfiguration reports whether objects of the kind register admission webhooks.
func IsWebhookConfiguration(kind schema.GroupKind) bool {
	return kind.Group == GroupWebhook && (kind.Kind == "ValidatingWebhookConfiguration" || kind.Kind == "MutatingWebhookConfiguration")
}

// TierLast is the tier of webhook configurations that do not exist, the last one of a stage.
const TierLast = 1

// ApplyTier ranks kinds within a stage: kinds that others refer to, or that concern Pods from their start, come first.
// A webhook configuration that does not exist comes last, because the server that answers its calls may be among the
// objects, which would be denied until it runs. One that exists calls its server already, and may deny objects until
// its manifest is applied; so it comes early. Without our label, the observer does not see that it exists.
func ApplyTier(kind schema.GroupKind, exists bool) int {
	if IsWebhookConfiguration(kind) {
		if !exists {
			return TierLast
		}
		return -3
	}
	switch kind.String() {
	case "Namespace":
		return -4
	case "CustomResourceDefinition." + GroupCRD, "IngressClass.networking.k8s.io", "RuntimeClass.node.k8s.io", "PriorityClass.scheduling.k8s.io",
		"StorageClass.storage.k8s.io", "PersistentVolume", "LimitRange", "ResourceQuota", "ClusterRole." + GroupRBAC, "Role." + GroupRBAC:
		return -2
	case "ServiceAccount", "ConfigMap", "Secret", "Service", "PersistentVolumeClaim", "NetworkPolicy.networking.k8s.io", "PodDisruptionBudget.policy",
		"ClusterRoleBinding." + GroupRBAC, "RoleBinding." + GroupRBAC:
		return -1
	default:
		return 0
	}
}

// DeleteTier ranks kinds within a stage of deletion: kinds that others need for a proper deletion come last.
func DeleteTier(kind schema.GroupKind) int {
	switch {
	case DefinesTypes(kind):
		return -1
	case IsWebhookConfiguration(kind):
		return 1
	}
	switch kind.String() {
	case "Service", "ConfigMap", "Secret", "NetworkPolicy.networking.k8s.io":
		return 2
	case "Namespace":
		return 3
	case "IngressClass.networking.k8s.io", "RuntimeClass.node.k8s.io", "PriorityClass.scheduling.k8s.io", "StorageClass.storage.k8s.io":
		return 4
	default:
		return 0
	}
}
