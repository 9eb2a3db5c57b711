// Stand-ins for objects and components of UnityEngine. `Scene` calls the messages of components in the order
// that the manual documents: Awake and OnEnable when a component is added to an active object, Update,
// LateUpdate, OnDisable, OnDestroy.
using System;
using System.Collections.Generic;
using System.Reflection;

namespace UnityEngine
{
    [Flags]
    public enum HideFlags
    {
        None = 0, HideInHierarchy = 1, DontSaveInEditor = 4, NotEditable = 8, DontSave = 52, HideAndDontSave = 61
    }

    public class Object
    {
        internal bool isDestroyed;
        static int lastId;
        readonly int id = ++lastId;
        public virtual string name { get; set; }
        public HideFlags hideFlags { get; set; }
        public int GetInstanceID() { return id; }
        static bool IsNull(Object o) { return ReferenceEquals(o, null) || o.isDestroyed; }
        public static bool operator ==(Object a, Object b)
        {
            return IsNull(a) || IsNull(b) ? IsNull(a) && IsNull(b) : ReferenceEquals(a, b);
        }
        public static bool operator !=(Object a, Object b) { return !(a == b); }
        public static implicit operator bool(Object o) { return !IsNull(o); }
        public override bool Equals(object o) { return this == o as Object; }
        public override int GetHashCode() { return id; }
        public static void Destroy(Object o) { Scene.DestroyLater(o); }
        public static void DestroyImmediate(Object o) { Scene.DestroyNow(o); }
        public static void DontDestroyOnLoad(Object o) { Scene.Lasting.Add(o); }
        internal virtual void Freed() { }
    }

    public class ScriptableObject : Object
    {
        public static T CreateInstance<T>() where T : ScriptableObject
        {
            return (T)Activator.CreateInstance(typeof(T), true);
        }
    }

    public class Component : Object
    {
        public GameObject gameObject { get; internal set; }
        public override string name { get { return gameObject.name; } set { gameObject.name = value; } }
        public Transform transform { get { return gameObject.transform; } }
        public T GetComponent<T>() where T : class { return gameObject.GetComponent<T>(); }
        public bool TryGetComponent<T>(out T found) where T : class { found = GetComponent<T>(); return found != null; }
        public T[] GetComponentsInChildren<T>(bool includeInactive = false) where T : class
        {
            var all = new List<T>();
            gameObject.Collect(all, includeInactive);
            return all.ToArray();
        }
    }

    public class Behaviour : Component
    {
        bool on = true;
        public bool enabled
        {
            get { return on; }
            set { on = value; Scene.Refresh(this); }
        }
        public bool isActiveAndEnabled { get { return !isDestroyed && on && gameObject.activeInHierarchy; } }
    }

    public class MonoBehaviour : Behaviour { internal bool isAwake, isOn; }

    public sealed class GameObject : Object
    {
        readonly List<Component> components = new List<Component>();
        bool active = true;
        public int layer { get; set; }
        public string tag { get; set; }
        public Transform transform { get; private set; }
        public bool activeSelf { get { return active; } }
        public bool activeInHierarchy
        {
            get { return active && (transform.parent == null || transform.parent.gameObject.activeInHierarchy); }
        }
        public GameObject(string name = "New Game Object")
        {
            this.name = name;
            transform = new Transform { gameObject = this };
            components.Add(transform);
            Scene.Objects.Add(this);
        }
        public T AddComponent<T>() where T : Component
        {
            var added = (T)Activator.CreateInstance(typeof(T), true);
            added.gameObject = this;
            components.Add(added);
            Scene.Added(added);
            return added;
        }
        public T GetComponent<T>() where T : class
        {
            foreach (Component c in components) if (c is T && !c.isDestroyed) return c as T;
            return null;
        }
        public void SetActive(bool value)
        {
            if (active == value) return;
            active = value;
            Scene.Refresh(this);
        }
        internal List<Component> Components { get { return components; } }
        internal void Collect<T>(List<T> all, bool includeInactive) where T : class
        {
            if (!includeInactive && !activeInHierarchy) return;
            foreach (Component c in components) if (c is T) all.Add(c as T);
            for (int i = 0; i < transform.childCount; i++) transform.GetChild(i).gameObject.Collect(all,
                includeInactive);
        }
    }

    public sealed class Transform : Component
    {
        readonly List<Transform> children = new List<Transform>();
        public Transform parent { get; private set; }
        public Vector3 localPosition;
        public Quaternion localRotation = Quaternion.identity;
        public Vector3 localScale = Vector3.one;
        public int childCount { get { return children.Count; } }
        public Transform GetChild(int i) { return children[i]; }
        public void SetParent(Transform to, bool worldPositionStays)
        {
            if (worldPositionStays) throw new NotSupportedException();
            if (parent != null) parent.children.Remove(this);
            parent = to;
            if (to != null) to.children.Add(this);
        }
        internal void Detach() { if (!ReferenceEquals(parent, null)) parent.children.Remove(this); parent = null; }
        public Matrix4x4 localToWorldMatrix
        {
            get
            {
                Matrix4x4 local = Matrix4x4.TRS(localPosition, localRotation, localScale);
                return parent == null ? local : parent.localToWorldMatrix * local;
            }
        }
        public Vector3 position
        {
            get { return localToWorldMatrix.MultiplyPoint3x4(Vector3.zero); }
            set { if (parent != null) throw new NotSupportedException(); localPosition = value; }
        }
        public Quaternion rotation
        {
            get { return parent == null ? localRotation : parent.rotation * localRotation; }
            set { if (parent != null) throw new NotSupportedException(); localRotation = value; }
        }
        public Vector3 forward { get { return rotation * Vector3.forward; } }
        public Vector3 lossyScale
        {
            get { return parent == null ? localScale : Vector3.Scale(parent.lossyScale, localScale); }
        }
        public Vector3 TransformPoint(Vector3 p) { return localToWorldMatrix.MultiplyPoint3x4(p); }
        public bool hasChanged { get; set; }
    }

    /// The scene of the tests, which the engine keeps by itself.
    public static class Scene
    {
        public static readonly List<GameObject> Objects = new List<GameObject>();
        internal static readonly HashSet<Object> Lasting = new HashSet<Object>();
        static readonly List<Object> doomed = new List<Object>();

        internal static void Added(Component c) { var m = c as MonoBehaviour; if (m != null) Refresh(m); }
        internal static void Refresh(GameObject o)
        {
            foreach (Component c in o.Components.ToArray()) { var b = c as Behaviour; if (b != null) Refresh(b); }
            for (int i = 0; i < o.transform.childCount; i++) Refresh(o.transform.GetChild(i).gameObject);
        }
        internal static void Refresh(Behaviour b)
        {
            var m = b as MonoBehaviour;
            if (m == null) return;
            bool on = m.isActiveAndEnabled;
            if (on && !m.isAwake && Runs(m)) { m.isAwake = true; Send(m, "Awake"); }
            if (on == m.isOn) return;
            m.isOn = on;
            if (Runs(m)) Send(m, on ? "OnEnable" : "OnDisable");
        }
        static bool Runs(MonoBehaviour m)
        {
            return Application.isPlaying || m.GetType().IsDefined(typeof(ExecuteAlways), true);
        }
        internal static void Send(MonoBehaviour m, string message)
        {
            MethodInfo method = m.GetType().GetMethod(message,
                BindingFlags.Instance | BindingFlags.NonPublic | BindingFlags.Public, null, Type.EmptyTypes, null);
            if (method == null) return;
            try { method.Invoke(m, null); }
            catch (TargetInvocationException e) { Debug.LogException(e.InnerException, m); }
        }
        /// A frame of the game.
        public static void Frame(float seconds)
        {
            Time.deltaTime = seconds;
            foreach (string message in new[] { "Start", "Update", "LateUpdate" }) Each(message);
            DestroyDoomed();
        }
        static void DestroyDoomed()
        {
            for (int i = 0; i < doomed.Count; i++) DestroyNow(doomed[i]);
            doomed.Clear();
        }
        static readonly HashSet<MonoBehaviour> started = new HashSet<MonoBehaviour>();
        static void Each(string message)
        {
            var all = new List<MonoBehaviour>();
            foreach (GameObject o in Objects)
                foreach (Component c in o.Components)
                {
                    var m = c as MonoBehaviour;
                    if (m != null && m.isOn && Runs(m)) all.Add(m);
                }
            all.Sort((a, b) => Order(a).CompareTo(Order(b)));
            foreach (MonoBehaviour m in all) if (m.isOn && (message != "Start" || started.Add(m))) Send(m, message);
        }
        static int Order(MonoBehaviour m)
        {
            var order = (DefaultExecutionOrder)Attribute.GetCustomAttribute(m.GetType(), typeof(DefaultExecutionOrder));
            return order == null ? 0 : order.order;
        }
        internal static void DestroyLater(Object o) { if (o != null) doomed.Add(o); }
        internal static void DestroyNow(Object o)
        {
            if (ReferenceEquals(o, null) || o.isDestroyed) return;
            var holder = o as GameObject;
            if (!ReferenceEquals(holder, null))
            {
                while (holder.transform.childCount > 0) DestroyNow(holder.transform.GetChild(0).gameObject);
                foreach (Component c in holder.Components.ToArray()) DestroyNow(c);
                holder.transform.Detach();
                Objects.Remove(holder);
            }
            var m = o as MonoBehaviour;
            if (!ReferenceEquals(m, null))
            {
                if (m.isOn) { m.isOn = false; if (Runs(m)) Send(m, "OnDisable"); }
                if (m.isAwake) Send(m, "OnDestroy");
                m.gameObject.Components.Remove(m);
            }
            o.isDestroyed = true;
            o.Freed();
        }
        /// Loads another scene.
        public static void Clear()
        {
            foreach (GameObject o in Objects.ToArray()) if (!Lasting.Contains(o)) DestroyNow(o);
            DestroyDoomed();
        }
    }

    [AttributeUsage(AttributeTargets.Class)]
    public sealed class AddComponentMenu : Attribute { public AddComponentMenu(string name) { } }
    [AttributeUsage(AttributeTargets.Class)]
    public sealed class DisallowMultipleComponent : Attribute { }
    [AttributeUsage(AttributeTargets.Class)]
    public sealed class ExecuteAlways : Attribute { }
    [AttributeUsage(AttributeTargets.Class)]
    public sealed class DefaultExecutionOrder : Attribute
    {
        public int order { get; private set; }
        public DefaultExecutionOrder(int order) { this.order = order; }
    }
    [AttributeUsage(AttributeTargets.Field)]
    public sealed class SerializeField : Attribute { }
    [AttributeUsage(AttributeTargets.Field)]
    public sealed class HideInInspector : Attribute { }
    [AttributeUsage(AttributeTargets.Field)]
    public sealed class TooltipAttribute : Attribute { public TooltipAttribute(string text) { } }
    [AttributeUsage(AttributeTargets.Class)]
    public sealed class RequireComponent : Attribute { public RequireComponent(Type type) { } }
    [AttributeUsage(AttributeTargets.Class)]
    public sealed class CreateAssetMenuAttribute : Attribute
    {
        public string menuName { get; set; }
        public string fileName { get; set; }
    }
    public enum RuntimeInitializeLoadType
    {
        AfterSceneLoad, BeforeSceneLoad, AfterAssembliesLoaded, BeforeSplashScreen, SubsystemRegistration
    }
    [AttributeUsage(AttributeTargets.Method)]
    public sealed class RuntimeInitializeOnLoadMethodAttribute : Attribute
    {
        public RuntimeInitializeOnLoadMethodAttribute(RuntimeInitializeLoadType type) { }
    }

    public static class Time { public static float deltaTime { get; set; } }

    public static class Application
    {
        static Application() { isPlaying = true; streamingAssetsPath = ""; }
        public static bool isPlaying { get; set; }
        public static bool isEditor { get; set; }
        public static string streamingAssetsPath { get; set; }
        public static event Action quitting;
        public static void Quit() { if (quitting != null) quitting(); }
    }

    /// The log of the tests.
    public static class Debug
    {
        public static readonly List<string> Errors = new List<string>();
        public static readonly List<string> Warnings = new List<string>();
        public static readonly List<Exception> Exceptions = new List<Exception>();
        public static void Log(object message) { }
        public static void LogError(object message, Object context = null) { Errors.Add(message.ToString()); }
        public static void LogWarning(object message, Object context = null) { Warnings.Add(message.ToString()); }
        public static void LogException(Exception error, Object context = null) { Exceptions.Add(error); }
    }
}

namespace UnityEngine.Events
{
    public delegate void UnityAction();
    public delegate void UnityAction<T>(T value);

    public class UnityEvent
    {
        UnityAction calls;
        public void AddListener(UnityAction call) { calls += call; }
        public void RemoveListener(UnityAction call) { calls -= call; }
        public void Invoke() { if (calls != null) calls(); }
    }

    public class UnityEvent<T>
    {
        UnityAction<T> calls;
        public void AddListener(UnityAction<T> call) { calls += call; }
        public void RemoveListener(UnityAction<T> call) { calls -= call; }
        public void Invoke(T value) { if (calls != null) calls(value); }
    }
}
