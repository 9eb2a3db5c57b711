using System.Collections.Generic;
using System.IO;
using Meshreel;
using UnityEngine;

/// <summary>Builds a street: a row of all `.reel` files in StreamingAssets, a crowd of copies of the first
/// one, and a camera that walks along. Put the component on an empty object of an empty scene.</summary>
public sealed class Street : MonoBehaviour
{
    /// <summary>Metres between files.</summary>
    public float distance = 4;
    /// <summary>The number of copies in the crowd.</summary>
    public int copies = 400;
    /// <summary>Metres per second of the camera.</summary>
    public float speed = 1;
    /// <summary>Materials by the names in the files; may be missing.</summary>
    public ReelMaterials materials;

    readonly List<ReelPlayer> players = new List<ReelPlayer>();
    Camera walker;

    void Awake()
    {
        // Before the first player is enabled.
        ReelRuntime.Options = new ReelOptions { heapMegabytes = 256 };
    }

    void Start()
    {
        foreach (string path in Files()) players.Add(CreatePlayer(path));
        if (players.Count == 0) Debug.LogWarning("Street: there is no .reel file in "
            + Application.streamingAssetsPath);
        else CreateCrowd(players[0].Path);
        CreateView();
    }

    static string[] Files()
    {
        string folder = Application.streamingAssetsPath;
        // On Android and WebGL a folder cannot be listed: name the files there.
        if (!Directory.Exists(folder)) return new string[0];
        string[] all = Directory.GetFiles(folder, "*.reel");
        System.Array.Sort(all, string.CompareOrdinal);
        return all;
    }

    ReelPlayer CreatePlayer(string path)
    {
        var place = new GameObject(Path.GetFileNameWithoutExtension(path));
        place.transform.position = new Vector3(players.Count % 2 == 0 ? -2 : 2, 0, distance * players.Count);
        var player = place.AddComponent<ReelPlayer>();
        player.materials = materials;
        player.lodPixels = 1;
        player.Failed += (who, message) => Debug.LogWarning("Street: " + who.name + ": " + message);
        player.Path = path;
        return player;
    }

    void CreateCrowd(string path)
    {
        ReelPlayer source = CreatePlayer(path);
        source.hidden = true;
        var crowd = new GameObject("crowd").AddComponent<ReelCrowd>();
        crowd.Player = source;
        var places = new Matrix4x4[copies];
        int row = Mathf.Max(1, Mathf.CeilToInt(Mathf.Sqrt(copies)));
        for (int i = 0; i < copies; i++)
        {
            var position = new Vector3(10 + 2 * (i % row), 0, 2 * (i / row));
            places[i] = Matrix4x4.TRS(position, Quaternion.identity, Vector3.one);
        }
        crowd.SetMatrices(places);
    }

    void CreateView()
    {
        walker = Camera.main;
        if (walker == null)
        {
            var holder = new GameObject("camera") { tag = "MainCamera" };
            walker = holder.AddComponent<Camera>();
        }
        walker.transform.position = new Vector3(0, 1.6f, -6);
        var sun = new GameObject("sun").AddComponent<Light>();
        sun.type = LightType.Directional;
        sun.transform.rotation = Quaternion.Euler(50, -30, 0);
    }

    void Update()
    {
        if (walker == null) return;
        float end = distance * players.Count + 6;
        Vector3 position = walker.transform.position;
        position.z += speed * Time.deltaTime;
        if (position.z > end) position.z = -6;
        walker.transform.position = position;
    }
}
